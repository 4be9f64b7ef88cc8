end
$stratigraph$;
