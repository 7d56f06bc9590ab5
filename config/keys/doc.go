// Package keys declares the keys of a configuration. One declaration of a key says everything about it: how its value
// is decoded, the default of an absent value, the allowed values, and the text of the schema and the reference.
//
// A mapping is declared by a function that returns its keys, each bound to a field:
//
//	func (a *Group) rows() []keys.Key {
//		return []keys.Key{
//			keys.Text("name", &a.Name, "the group's name").Required().Must("a name", named),
//			keys.Duration("poll", &a.Poll, "time between two polls, by default 1s").
//				Default(time.Second).Within(0, time.Hour),
//		}
//	}
//
// The main types:
//
//   - [Key] is one declaration. [Text], [Duration], [Whole], [Truth] and others declare the usual values, [Into],
//     [Optional] and [List] nested mappings, and [Custom] a value that a function of the caller decodes.
//   - [Source] is the text with its faults. [Fault] is one of them, with its place; [Faults] prints all.
//   - [Decoder] is what a declaration with Custom decodes with.
//   - [Option] is a key as a flag of a command: the flags of muster work are made from the same declarations.
//
// A text is read in three steps, each for the whole of it: [Decode] (types, unknown and repeated keys, variables),
// [Fill] (defaults) and [Check] (ranges, and what depends on several values). They collect faults in a Source instead
// of ending at the first. [Schema] and [Reference] write the same declarations for editors and for people.
//
// A path names a value, as in "fleets[0].workers.command". Declarations never carry their own path: a step passes it
// down, so the same declaration serves every element of a list.
//
// The package keeps these invariants:
//
//   - One mistake is one fault. A value that could not be decoded is marked as bad, and later faults at it or below it
//     are dropped. So is the absence of a key whose name was misspelt.
//   - A stated zero is not an absent value: defaults apply only where the text has no such key ([Source.Has]).
//   - A text cannot make the reader work without bound: its size, its depth, its lists and its faults are bounded, and
//     aliases are refused.
//   - A fault shows nothing that a terminal could take for a command.
//
// Use it for texts that people write. Programs exchange JSON without it. The configuration of Muster is in package
// config.
package keys
