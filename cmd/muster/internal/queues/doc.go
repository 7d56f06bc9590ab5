// Package queues has muster queue and its subcommands: they list queues with their counts, create, purge and check
// them, show messages, export and import them, and move dead letters back.
//
// [New] makes the command with its subcommands, one file for each. They contain flags and checks of their values. What
// they do is in package app/queuetool, and queue/check examines the files of a queue that is not running. An embedded
// queue is reached through the running muster up, because that owns its files.
//
// The package prints results, and decides nothing about messages. Keep new work out of it: a function of
// app/queuetool can be tested without a command line.
//
// Names and URLs are accepted wherever a queue is named, and a mistyped name gets a suggestion. The flags
// --endpoint, --region and --account find queues elsewhere, as on Amazon SQS, where that makes sense.
package queues
