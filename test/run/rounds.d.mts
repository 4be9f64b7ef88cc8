export declare function askedRounds(): "few" | "all" | "soak";
