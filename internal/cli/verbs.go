package cli

import "github.com/spf13/cobra"

// verbs are all verbs, in the order in which help lists them.
func verbs(env Env) []*cobra.Command {
	return []*cobra.Command{
		runVerb(env),
		benchVerb(env),
		findVerb(env),
		diagnoseVerb(env),
		auditVerb(env),
		sizeVerb(env),
		checkVerb(env),
		compareVerb(env),
		importVerb(env),
		exportVerb(env),
		runsVerb(env),
		labVerb(env),
	}
}
