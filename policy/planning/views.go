package planning

// view is one way to read the counts of a queue: they are lag seconds old, and workers have received so many of the
// counted messages since, the oldest first.
type view struct{ lag, received float64 }

// views returns how the counts may be read. They may be as old as the lag: then the messages are so much older, and
// those that workers have received since wait no more. Or they may be of now. To take the messages for so much older,
// and all of them for still there, would be neither. The messages over the time that is left for them is a ratio of two
// linear functions of the age of the counts, so it is greatest at one of these two ends.
func (p *plan) views() []view {
	if p.received == 0 {
		return []view{{p.lag, 0}}
	}
	return []view{{p.lag, p.received}, {0, 0}}
}

// countedBefore is for how many seconds more than the lag [muster.Observation].FinishedSince counts, on average.
const countedBefore = 7.5
