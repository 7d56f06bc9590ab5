// Package writer owns the state of the queues and makes its changes durable. A [Writer] is one goroutine: it takes the
// requests that wait ([Send], [Receive], [Settle], [Call]), applies them to the state, commits their operations as one
// group, and only then answers. Receives wait at it for messages. A [Mailbox] lets one caller hand in many requests.
//
// It knows neither what may be asked of a queue nor receipts nor what a message looks like to a receiver: requests come
// checked, and package queue turns what was received into messages. The docs of package queue say what an answer
// promises.
package writer
