// Package report has what the sections of the page on quality are made of: a [Section] with its [Goal] and [Table]
// values, and functions that render figures. It does not know where the page is written or which parts it has.
package report
