// Package iam writes the least-privilege policy of AWS IAM for a configuration: which actions on which resources one
// way to run Muster needs.
//
// [Make] returns a [Policy] for a [kind.Mode]. Its JSON is what IAM accepts as a policy document:
//
//	p, err := iam.Make(config, kinds.Table(), iam.Options{Mode: kind.ModeUp})
//	text, err := json.MarshalIndent(p, "", "  ")
//
// The permissions come from three places:
//
//   - Each kind of fleet, queue and signal states those of its own calls, beside the calls: see [kind.Permitted].
//   - Workers are no kind. What their reports, their lifecycle hook and their dead letters need is in workers.go.
//   - The tables of reports are in workers.go too, because they belong to all kinds.
//
// A test in package internal/endtoend makes every call of every mode on a fake AWS. It fails for a call that the policy
// does not allow, and for an allowed action that is never called.
//
// A statement names the ARNs of the configuration. Some actions cannot be restricted to resources; AWS accepts only *
// for them. Their statements have a Sid that ends with NoResourceLevel, or a condition in place of the ARN. Some
// permissions are for no call of Muster: AWS checks that its caller has them. Their Sid names the action that needs
// them.
//
// The package is pure: equal configurations give equal bytes, and nothing is called. It does not know whether a role
// exists or has the permissions; muster doctor finds out what can be found out without a write.
package iam
