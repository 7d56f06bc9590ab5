// Package notice delivers notices of incidents to channels. It decides nothing: package incident says what is told.
//
//	sender := notice.New(notice.Options{Destinations: channels, Logger: log})
//	go sender.Run(ctx)
//	sender.Tell(n) // never blocks
//
// Each [Destination] has a queue of at most [MaxWaiting] notices and a goroutine of its own, so that a channel that
// does not answer delays no other, and no decision. The goroutine sends the oldest notice first, one at a time:
//
//	delivered      it is gone
//	refused        the channel will never take it ([ErrRefused]): it is gone, and logged
//	failed         it is tried again after a pause, until its retry time is over; then it is gone, and logged
//	queue is full  the oldest notice is dropped and counted
//
// The pause doubles from [FirstPause] to [LongestPause]. Each pause is shortened at random by up to half, so that many
// programs do not retry together.
//
// Notices that wait at the end of the program are returned by [Sender.Waiting]. The caller stores them and passes them
// to the next Sender. A notice whose answer was lost is sent again with the same id, so delivery is at least once.
//
// A [Channel] is one method. The kinds of channels are the folders of channel/. [Secret] reads a password where it is
// needed, and [Spare] hides one in an error.
package notice
