// Package keys declares the keys of a configuration. One declaration of a key is all there is of it: how its value is
// decoded, what stands in for one that is not stated, what is allowed, and what the schema and the reference say.
//
// A mapping is declared by a function that returns its keys, each bound to a field:
//
//	func (a *Group) rows() []keys.Key {
//		return []keys.Key{
//			keys.Text("name", &a.Name, "the group's name").Required().Must("a name", named),
//			keys.Duration("poll", &a.Poll, "time between two looks, by default 1s").Default(time.Second).Within(0, time.Hour),
//		}
//	}
//
// A text is read in three steps, each for the whole of it: [Decode] (types, unknown and repeated keys, variables),
// [Fill], [Check]. They collect faults in a [Source] instead of ending at the first, and every fault has its place in
// the text.
//
// Use it for what people write. What programs write to each other is JSON without it.
package keys
