package box

// whyWorst explains, by the number of a drawn world, why another policy has a smaller loss there than deadline. The
// sentences are written by hand after a look at the runs, for the worst worlds on docs/quality.md. A world without one
// has an empty cell there.
var whyWorst = map[uint64]string{
	1006: "It waits for more work before it launches, and pays a fourteenth more for 91 % in time in place of 79 %.",
	1010: "Work of minutes is interrupted with its spot instances: most is late either way, and a fourteenth more " +
		"is paid to have 35 % in time in place of 8 %.",
	1018: "Work takes longer the more messages wait, and the plan lets some hundred wait for half an hour: it does " +
		"not know that this makes them dearer.",
	1024: "Two workers are all that may be, under more work than they do. Messages are in time at the beginning of " +
		"each busy time only, and the first boot of seven minutes takes from that.",
	1028: "The late messages are those of the first seconds, in which one worker finds out how long the work takes; " +
		"the maximum leaves little room to catch up.",
	1029: "Reports are 14 s late, and so are their answers: its worker waits for the permit to leave, where a job " +
		"ends by itself.",
	1030: "A worker has five slots, which it fills better by launching later; the other waits for longer still. What " +
		"is late has failed first.",
	1031: "A fifth more is paid for 95 % in time in place of 89 %; 99.9 % are asked for.",
	1033: "Both keep one worker throughout, and the other launches it a minute later.",
	1039: "Five thousand messages of unknown duration wait while the first worker boots for five minutes. Others are " +
		"launched in the meantime, in case the work takes long; it takes 8 ms.",
	1041: "Work becomes eight times as long, and messages wait for their last moment with the tail of before. From " +
		"then on some take longer than the objective.",
	1054: "While the first worker boots for 13 minutes, messages are late, and pay for a second one that is never " +
		"needed.",
	1060: "Boots take five minutes, and nothing states that. Of twenty workers launched within a minute, the first " +
		"is ready sooner than of two.",
	1065: "One worker of five slots is all that may be, so it is launched at once. The other waits for hours, and " +
		"fills its slots better.",
	1067: "A burst launches a second worker, which boots for twenty minutes; the first one has finished the burst " +
		"after a minute.",
	1072: "Ten workers were there before a spike that nothing announces, and stay for the next ones.",
	1073: "Nothing was there at the first message, and nothing states that boots take two minutes. Some workers are " +
		"launched because the first of them is ready sooner; the other launches more.",
	1074: "Four workers are kept where three would do for the 99 % that are asked for.",
	1080: "Late messages cost little, so one worker is launched for each, and has been idle for a second when it " +
		"says so. The other lets most wait.",
	868047763: "Boots vary by half of their mean, and work by six times its own. It launches a worker for each " +
		"message of a small burst, and some for those that may follow; the other launches half as many, " +
		"and has as much in time.",
	875149455: "Three short messages are the first to end, so none is expected to take longer, and many wait for " +
		"their last moment. Then eight workers of three slots are launched at once, and each stays for " +
		"its longest message.",
	1006391982: "One worker that never stops costs a quarter more and has all in time. Without it nothing is " +
		"there for the first messages of each busy time, and counts are 35 s old under an objective of 12 " +
		"s.",
	1250884195: "It pays a sixth more for 66 % in time in place of 15 %.",
	1300420571: "It pays a quarter more for 96 % in time in place of 95 %; 99 % are asked for.",
	1554383910: "Each message launches a worker, which boots for five seconds, works for 26 ms and waits twice 2.5 s " +
		"for the answers to its reports. One that stays costs a twelfth less.",
	1599841967: "Boots and late messages cost a third of a second to a second. A worker that is launched for a " +
		"message costs five, because it has been idle when it says so; the other launches half as many.",
	1654490813: "Within four seconds four workers are launched to find out how long the work takes, in case one is " +
		"too few; it takes 5 ms.",
	1768730113: "One worker that is launched at half of the objective does all. At the last moment one is launched, " +
		"and a second one twelve seconds later: counts 28 s old still show the messages that the first one " +
		"has received.",
	2363164416: "It pays half more for 83 % in time in place of 73 %.",
	3062561009: "It pays a sixth more for 96 % in time in place of 58 %.",
	3099436955: "Boots of eight minutes are all that the work costs. It plans with those of fifteen and launches " +
		"when a quarter of the objective is over. The other waits for half of it, so each boot serves " +
		"more messages.",
	3835593174: "Nothing states that boots take 77 seconds. At 76 a second worker is launched, in case the work " +
		"takes long; it takes 32 ms.",
	3962123183: "One worker of 13 slots would do. A second one is launched when messages may be late that take as " +
		"long as the longest, and stays for half a day with one of them.",
}
