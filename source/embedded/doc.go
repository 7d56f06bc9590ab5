// Package embedded measures a queue of the embedded queue service. Its counts are exact and its ages known.
//
// [Source] is a muster.Source, and a muster.Notifier: the queue wakes the controller at once when a message comes, so
// no poll has to be short. It knows more than other sources do: how many messages were ever sent, how many are dead
// letters, and which messages in flight wait for their retry and are at no worker.
//
//	source := embedded.New(queues, "thumbnails")
//	measured, err := source.Observe(ctx)
//
// It reads the queue's counts in this process and never receives a message. [Kind] is its row: any name without a colon
// is a queue of this kind.
//
// This is the smallest source. For one that reaches a server, read package source/prometheus. The queue itself is
// package queue, and what serves it to other processes is package sqsapi.
package embedded
