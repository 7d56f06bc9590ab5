// Package report has what the parts of the page on quality are made of: a [Section] with each [Goal] and [Table], and
// the figures in words. Where the page is written and which parts it has is not known here.
package report
