package desk

import rego.v1

default decision := {"deny": "no rule allows it"}

decision := {"deny": "no payment is over 5000 EUR"} if {
	input.tool == "pay"
	input.args.cents > 500000
} else := {"ask": "a person allows payments over 500 EUR"} if {
	pays
	input.args.cents > 50000
} else := {"allow": true} if {
	pays
	input.args.cents > 0
}

pays if {
	input.tool == "pay"
	input.author == "desk"
}
