  perform set_config('lock_timeout', v_lock_timeout, true);
end
$stratigraph$;
