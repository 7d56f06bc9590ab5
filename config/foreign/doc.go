// Package foreign reads how another system scales, and writes a configuration of Muster that means the same. It
// understands CloudFormation and SAM templates, Terraform (HCL, its JSON syntax, and what terraform show prints),
// what the AWS CLI prints, and ScaledObjects, ScaledJobs and HorizontalPodAutoscalers of Kubernetes.
//
//	result, err := foreign.Read(foreign.File{Name: "stack.yaml", Text: text})
//	...
//	os.Stdout.Write(result.YAML()) // result.Notes say what could not be carried over
//
// [Read] is pure. A text passes these steps:
//
//	read.go     text -> tree with places (package nodes), and which of the formats it is
//	terraform   Terraform -> a tree in the form of a template
//	aws         output of the AWS CLI -> a tree in the form of a template
//	template    what a value of a template comes to: references, functions, loops
//	aws         template -> fleets (package draft)
//	kubernetes  objects -> fleets (package draft)
//	write.go    fleets -> configuration
//
// So every source of AWS becomes a template first, and only one package knows what scaling policies of AWS mean.
//
// Whatever cannot be carried over is a note with its place, in the result and as a comment in the configuration:
// nothing is dropped silently. A value that is not known here has a text that stands in for it, and a note that says
// so. What is written never sizes or starts anything: every fleet begins in shadow mode, without a command. Size,
// depth and work are bounded and aliases are refused, because files come from anywhere.
//
// Package app/importing finds the files of muster import; the simulator plays a [Result] with --compare.
package foreign
