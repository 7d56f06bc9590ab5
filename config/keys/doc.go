// Package keys declares the keys of a configuration. One declaration of a key is all there is of it: how its value is
// decoded, what stands in for one that is not stated, what is allowed, and what the schema and the reference say.
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
//   - [Key] is one declaration. [Text], [Duration], [Whole], [Truth] and others make those of usual values, [Custom]
//     one that reads a node by itself.
//   - [Source] is a text that is read, with the faults that were found in it. [Fault] is one of them, with its place;
//     [Faults] prints all.
//   - [Option] is a key as a flag of a command: the flags of muster work are made from the same declarations.
//
// A text is read in three steps, each for the whole of it: [Decode] (types, unknown and repeated keys, variables),
// [Fill], [Check]. They collect faults in a Source instead of ending at the first. [Schema] and [Reference] write the
// same declarations for editors and for people.
//
// Use it for what people write. What programs write to each other is JSON without it. The configuration of Muster is in
// package config.
package keys
