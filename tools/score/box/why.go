package box

// whyWorst explains, by the number of a drawn world, why another policy has a smaller loss there than deadline. The
// sentences are written by hand after a look at the runs, for the worst worlds on docs/quality.md. A world without one
// has an empty cell there.
var whyWorst = map[uint64]string{
	1002: "No launch is in time here, and the plan accepts a queue that stands at the age of the objective: most of " +
		"what comes is " +
		"a moment late, for ten minutes. This is a fault of the policy.",
	1009: "No launch is in time here: the headroom grows from two workers to four with the bursts that were seen, " +
		"and the first " +
		"bursts are late; ten workers throughout are not.",
	1010: "Work of minutes is interrupted with its spot instances: most is late either way, and a sixth more is " +
		"paid to have 36 % in time in place of 8 %.",
	1017: "The counts are a minute old at an objective of 19 s: the first that are known show a thousand late " +
		"messages, and 36 " +
		"workers are launched for them where the other launches 50.",
	1018: "Work takes longer the more messages wait, and the plan lets some hundred wait for half an hour: it does " +
		"not know that this makes them dearer.",
	1019: "It plans with the whole objective: 90 s of work wait when eight times as many messages begin to come, and " +
		"the maximum " +
		"leaves no room to catch up.",
	1024: "Two workers are all that may be, of which it lets one go between the busy times; boots of seven minutes " +
		"bring it back " +
		"too late.",
	1028: "The late messages are those of the first seconds, in which one worker finds out how long the work takes; " +
		"the maximum " +
		"leaves little room to catch up.",
	1029: "Reports are 14 s late, and so are their answers: its worker waits for the permit to leave, where a job " +
		"ends by itself.",
	1032: "With one worker at most, what was put off for the whole objective cannot be caught up once the work takes " +
		"several times " +
		"as long.",
}
