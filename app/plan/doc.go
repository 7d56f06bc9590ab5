// Package plan computes what a configuration would set now, without changing anything. [Make] decides for every fleet,
// and [Fleet.Print] prints the decision with its arithmetic and with what the objective can expect.
//
// The state comes from one of three places:
//
//	muster up runs               its last observation, with the policies, objectives and limits of the file
//	it runs, the file is faulty  its last observation and its own policies
//	it does not run              one reading of the queues and fleets, with the history of the data directory
//
// In each case the policy is the one of production, and so is its memory of recent decisions; so a plan and the
// decision that follows differ only by what happened in between.
//
// Use it before a configuration is applied. Package explain is for the configuration in force.
package plan
