// Package protocol is what requests and answers of SQS look like on the wire: AWS JSON 1.0 and the Query protocol, and
// the codes, statuses and words of errors in both.
//
// [CodecOf] tells the protocols apart. A [Codec] finds the action and decodes its parameters into a struct, by the
// struct's names and tags, and encodes a result or a [Fault]. JSON of the usual form is read by a [Reader] and written
// by a [UsualResult] without reflection; everything else goes to encoding/json and means the same.
//
// The package knows no action, and nothing of connections, signatures and places. Its functions and codecs are safe for
// concurrent use.
package protocol
