package sqsapi

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

const (
	fifoQueue = `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"true","ContentBasedDeduplication":"true"}}`
	uuid      = `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`
	arn       = "arn:aws:sqs:us-east-1:000000000000:"
)

// create makes queues with nothing but names.
func create(names ...string) (steps []step) {
	for _, name := range names {
		steps = append(steps, step{action: "CreateQueue", params: `{"QueueName":"` + name + `"}`})
	}
	return steps
}

// then adds steps.
func then(before []step, steps ...step) []step { return append(before, steps...) }

// one is a single step on a queue q.
func one(action, params, code string, want map[string]string) []step {
	return then(create("q"), step{action, params, code, want, nil})
}

// held sends a message to q and receives it; its handle is kept as $h.
func held() []step {
	return then(create("q"),
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"hello"}`},
		step{action: "ReceiveMessage", params: `{"QueueUrl":"q"}`,
			keep: map[string]string{"h": "Messages.1.ReceiptHandle"}})
}

// buried makes dead the dead-letter queue of q, with one message that came from there.
func buried() []step {
	return then(create("dead"),
		step{action: "CreateQueue",
			params: `{"QueueName":"q","Attributes":{"VisibilityTimeout":"0","RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn + `dead\",\"maxReceiveCount\":\"1\"}"}}`},
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"poison"}`},
		step{action: "ReceiveMessage", params: `{"QueueUrl":"q"}`,
			want: map[string]string{"Messages.1.Body": "poison"}},
		step{action: "ReceiveMessage", params: `{"QueueUrl":"q"}`, want: map[string]string{"Messages.1.Body": "-"}})
}

// says is the text of an error.
func says(text string) map[string]string { return map[string]string{"": regexp.QuoteMeta(text)} }

// long is one character longer than an id may be.
var long = strings.Repeat("g", 129)

// taskHandle is one of a task that was never started.
func taskHandle(source string) string {
	return base64.StdEncoding.EncodeToString([]byte(`{"taskId":"10f57157-fc38-4da9-a113-4de7e12d05aa","sourceArn":"` +
		source + `"}`))
}

// redriveRefusals are policies that are not taken for q.
func redriveRefusals() (steps []step) {
	for _, row := range []struct{ policy, code, text string }{
		{`x`, "InvalidAttributeValue", "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not " +
			"a valid JSON map."},
		{`{"maxReceiveCount":3}`, "InvalidParameterValue", "Value {} for parameter RedrivePolicy is invalid. Reason: " +
			"Redrive policy does not contain mandatory attribute: deadLetterTargetArn."},
		{`{"deadLetterTargetArn":"dead","maxReceiveCount":3}`, "InvalidParameterValue", "Value {} for parameter " +
			"RedrivePolicy is invalid. Reason: Dead-letter target ARN should be fully qualified ARN."},
		{`{"deadLetterTargetArn":"` + arn + `dead","maxReceiveCount":3}`, "InvalidParameterValue",
			"Value {} for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist."},
		{`{"deadLetterTargetArn":"` + arn + `dead","maxReceiveCount":"1001"}`, "InvalidParameterValue",
			"Value {} for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: 1001, valid " +
				"values are from 1 to 1000 both inclusive."},
	} {
		text := strings.Replace(row.text, "{}", row.policy, 1)
		quoted, _ := json.Marshal(row.policy) // a string
		steps = append(steps, step{"SetQueueAttributes", `{"QueueUrl":"q","Attributes":{"RedrivePolicy":` +
			string(quoted) + `}}`, row.code, says(text), nil})
	}
	return append(steps,
		step{action: "CreateQueue", params: fifoQueue},
		step{"SetQueueAttributes", `{"QueueUrl":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn +
			`q.fifo\",\"maxReceiveCount\":3}"}}`, "InvalidParameterValue",
			says(`Value {"deadLetterTargetArn":"` + arn +
				`q.fifo","maxReceiveCount":3} for parameter RedrivePolicy is invalid. Reason: Dead-letter queue must be same type of queue as the source..`), nil},
		step{"SetQueueAttributes", `{"QueueUrl":"q","Attributes":{"RedriveAllowPolicy":"{}x"}}`,
			"InvalidAttributeValue",
			says("Invalid value for the parameter RedriveAllowPolicy. Reason: Amazon SQS can't create the redrive " +
				"allow policy, as it’s in an unsupported format."), nil})
}

// attributeRefusals are sends with one attribute that is not taken.
func attributeRefusals() (steps []step) {
	for _, row := range []struct{ name, value, text string }{
		{"a", `{"DataType":"String","StringValue":""}`, "Message (user) attribute 'a' must contain a non-empty value " +
			"of type 'String'."},
		{"a", `{"DataType":"Binary","BinaryValue":""}`, "Message (user) attribute 'a' must contain a non-empty value " +
			"of type 'Binary'."},
		{"a", `{"DataType":"Number","StringValue":"x"}`, "Can't cast the value of message (user) attribute 'a' to a " +
			"number."},
		{"a", `{"DataType":"","StringValue":"x"}`, "The message (user) attribute 'a' must contain a non-empty " +
			"message attribute type."},
		{"a", `{"DataType":"Text","StringValue":"x"}`, "The type of message (user) attribute 'a' is invalid. You " +
			"must use only the following supported type prefixes: Binary, Number, String."},
		{"a", `{"DataType":"String.` + strings.Repeat("x", 250) + `","StringValue":"x"}`, "Message (user) attribute " +
			"type must be shorter than 256 bytes."},
		{"", `{"DataType":"String","StringValue":"x"}`, "The request must contain non-empty message (user) attribute " +
			"names."},
		{strings.Repeat("x", 257), `{"DataType":"String","StringValue":"x"}`, "Message (user) attribute name must be " +
			"shorter than 256 bytes."},
		{"aWs.x", `{"DataType":"String","StringValue":"x"}`, "You can't use message attribute names beginning with " +
			"'AWS.' or 'Amazon.'. These strings are reserved for internal use."},
		{".x", `{"DataType":"String","StringValue":"x"}`, "Message (user) attribute name must not begin with " +
			"character '.'."},
		{"x.", `{"DataType":"String","StringValue":"x"}`, "Message (user) attribute name must not end with character " +
			"'.'."},
		{"x..y", `{"DataType":"String","StringValue":"x"}`, "Message (user) attribute name must not have successive " +
			"'.' characters."},
		{"x§", `{"DataType":"String","StringValue":"x"}`, "Message (user) attribute name can only contain letters, " +
			"digits, periods, hyphens and underscores: 'x§'."},
		{"x y", `{"DataType":"String","StringValue":"x"}`, "Message (user) attribute name can only contain letters, " +
			"digits, periods, hyphens and underscores: 'x y'."},
	} {
		steps = append(steps, step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageAttributes":{"` +
			row.name + `":` + row.value + `}}`, "InvalidParameterValue", says(row.text), nil})
	}
	return append(steps, step{"SendMessage",
		`{"QueueUrl":"q","MessageBody":"x","MessageAttributes":{"a":{"DataType":"String","StringListValues":["x"]}}}`,
		"AWS.SimpleQueueService.UnsupportedOperation",
		says("Message attribute list values in SendMessage operation are not supported."), nil})
}

// selections receive one message of r with three attributes, each time with others of them.
func selections() []step {
	const there, not = "[A-Z]\\w+", "-"
	steps := []step{
		{action: "SetQueueAttributes", params: `{"QueueUrl":"r","Attributes":{"VisibilityTimeout":"0"}}`},
		{action: "SendMessage", params: `{"QueueUrl":"r","MessageBody":"x","MessageAttributes":{"Help.Me":{"DataType":"String","StringValue":"Me"},"Hello":{"DataType":"String","StringValue":"There"},"General":{"DataType":"String","StringValue":"Kenobi"}}}`},
	}
	for _, row := range []struct{ names, helpMe, hello, general string }{
		{`[]`, not, not, not},
		{`["All"]`, there, there, there},
		{`["*"]`, there, there, there},
		{`[".*"]`, there, there, there},
		{`["Hel.*"]`, there, there, not},
		{`["Help.*"]`, there, not, not},
		{`["Hel*"]`, not, not, not},
		{`["Foo","Help"]`, not, not, not},
		{`["Foo","Hello"]`, not, there, not},
		{`["hello"]`, not, not, not},
		{`["AWS."]`, not, not, not},
		{`["..foo"]`, not, not, not},
	} {
		steps = append(steps, step{"ReceiveMessage", `{"QueueUrl":"r","MessageAttributeNames":` + row.names + `}`, "",
			map[string]string{
				"Messages.1.MessageAttributes.Help.Me.StringValue": row.helpMe,
				"Messages.1.MessageAttributes.Hello.StringValue":   row.hello,
				"Messages.1.MessageAttributes.General.StringValue": row.general}, nil})
	}
	return steps
}

// rules are shown over every protocol and listed in the documentation.
var rules = []rule{
	{"CreateQueue", "creates a queue with attributes and tags and returns its URL", []step{
		{"CreateQueue", `{"QueueName":"q","Attributes":{"DelaySeconds":"3"},"tags":{"a":"1"}}`, "",
			map[string]string{"QueueUrl": `$url/000000000000/q`}, nil},
		{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["DelaySeconds"]}`, "",
			map[string]string{"Attributes.DelaySeconds": "3"}, nil},
		{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "1"}, nil}}},
	{"CreateQueue", "creates FIFO queues",
		[]step{{"CreateQueue", fifoQueue, "", map[string]string{"QueueUrl": `.*/q\.fifo`}, nil}}},
	{"CreateQueue", "succeeds for a queue that exists with the same attributes",
		one("CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"30"}}`, "", nil)},
	{"CreateQueue", "refuses a queue that exists with another value, and names the attribute",
		one("CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"31"}}`, "QueueAlreadyExists",
			map[string]string{"": ".*VisibilityTimeout"})},
	{"CreateQueue", "refuses names and attributes that are not allowed", []step{
		{"CreateQueue", `{"QueueName":"a.b"}`, "InvalidParameterValue",
			says("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"), nil},
		{"CreateQueue", `{"QueueName":"a","Attributes":{"FifoQueue":"true"}}`, "InvalidParameterValue",
			says("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must " +
				"end with .fifo suffix and be 1 to 80 in length."), nil},
		{"CreateQueue", `{"QueueName":""}`, "InvalidParameterValue", says("Queue name cannot be empty"), nil},
		{"CreateQueue", `{}`, "InvalidParameterValue",
			says("Value for parameter QueueName is invalid. Reason: Must specify a queue name."), nil},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"FifoQueue":"false"}}`, "InvalidAttributeName",
			says("Unknown Attribute FifoQueue."), nil},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"Colour":"red"}}`, "InvalidAttributeName",
			map[string]string{"": "Unknown Attribute Colour\\."}, nil},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"ContentBasedDeduplication":"true"}}`, "InvalidAttributeName",
			map[string]string{"": "Unknown Attribute ContentBasedDeduplication\\."}, nil},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"FifoThroughputLimit":"perQueue"}}`, "InvalidAttributeName",
			map[string]string{"": "You can specify the FifoThroughputLimit only when FifoQueue is set to true\\."},
			nil}}},
	{"CreateQueue", "strict: refuses the name of a queue deleted less than 60 s ago", then(create("q"),
		step{action: "DeleteQueue", params: `{"QueueUrl":"q"}`},
		step{"CreateQueue", `{"QueueName":"q"}`, "AWS.SimpleQueueService.QueueDeletedRecently", nil, nil})},
	{"GetQueueUrl", "returns the URL of a queue",
		one("GetQueueUrl", `{"QueueName":"q"}`, "", map[string]string{"QueueUrl": `$url/000000000000/q`})},
	{"GetQueueUrl", "refuses an empty name", one("GetQueueUrl", `{"QueueName":""}`, "InvalidParameterValue",
		says("Value for parameter QueueName is invalid. Reason: Must specify a queue name."))},
	{"GetQueueUrl", "refuses a queue that does not exist, or of another account",
		one("GetQueueUrl", `{"QueueName":"q","QueueOwnerAWSAccountId":"111111111111"}`,
			"AWS.SimpleQueueService.NonExistentQueue",
			map[string]string{"": "The specified queue does not exist( for this wsdl version)?\\."})},
	{"ListQueues", "lists queues by prefix and in pages", then(create("qa", "qb", "r"),
		step{"ListQueues", `{"QueueNamePrefix":"q","MaxResults":1}`, "",
			map[string]string{"QueueUrls.1": ".*/qa", "QueueUrls.2": "-"}, map[string]string{"n": "NextToken"}},
		step{"ListQueues", `{"QueueNamePrefix":"q","MaxResults":1,"NextToken":"$n"}`, "",
			map[string]string{"QueueUrls.1": ".*/qb", "NextToken": "-"}, nil},
		step{"ListQueues", `{"MaxResults":1001}`, "InvalidParameterValue",
			says("Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and " +
				"1000."), nil},
		step{"ListQueues", `{"MaxResults":1,"NextToken":"?"}`, "InvalidParameterValue",
			says("Invalid or expired next token."), nil})},
	{"DeleteQueue", "deletes a queue at once", then(create("q"),
		step{action: "DeleteQueue", params: `{"QueueUrl":"q"}`},
		step{"GetQueueUrl", `{"QueueName":"q"}`, "AWS.SimpleQueueService.NonExistentQueue", nil, nil})},
	{"PurgeQueue", "deletes all messages; strict: once in 60 s", then(held(),
		step{action: "PurgeQueue", params: `{"QueueUrl":"q"}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["ApproximateNumberOfMessagesNotVisible"]}`, "",
			map[string]string{"Attributes.ApproximateNumberOfMessagesNotVisible": "0"}, nil},
		step{"PurgeQueue", `{"QueueUrl":"q"}`, "AWS.SimpleQueueService.PurgeQueueInProgress", nil, nil})},
	{"GetQueueAttributes", "returns the attributes that are asked for, or All", then(create("q"),
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["QueueArn","DelaySeconds"]}`, "",
			map[string]string{"Attributes.QueueArn": arn + "q", "Attributes.DelaySeconds": "0",
				"Attributes.VisibilityTimeout": "-"}, nil},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.MaximumMessageSize": "1048576", "Attributes.MessageRetentionPeriod": "345600",
				"Attributes.CreatedTimestamp": `\d{10}`, "Attributes.ApproximateNumberOfMessages": "0"}, nil},
		step{"GetQueueAttributes", `{"QueueUrl":"q"}`, "", map[string]string{"Attributes.QueueArn": "-"}, nil})},
	{"GetQueueAttributes", "shows the encryption that AWS gives a queue by default", then(create("q"),
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.SqsManagedSseEnabled": "true", "Attributes.KmsMasterKeyId": "-",
				"Attributes.KmsDataKeyReusePeriodSeconds": "-"}, nil},
		step{action: "SetQueueAttributes",
			params: `{"QueueUrl":"q","Attributes":{"KmsDataKeyReusePeriodSeconds":"300"}}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.KmsDataKeyReusePeriodSeconds": "-"}, nil},
		step{action: "SetQueueAttributes", params: `{"QueueUrl":"q","Attributes":{"KmsMasterKeyId":"alias/aws/sqs"}}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.SqsManagedSseEnabled": "false", "Attributes.KmsMasterKeyId": "alias/aws/sqs",
				"Attributes.KmsDataKeyReusePeriodSeconds": "300"}, nil},
		step{action: "SetQueueAttributes",
			params: `{"QueueUrl":"q","Attributes":{"SqsManagedSseEnabled":"False","KmsMasterKeyId":""}}`},
		step{"GetQueueAttributes",
			`{"QueueUrl":"q","AttributeNames":["SqsManagedSseEnabled","KmsDataKeyReusePeriodSeconds"]}`, "",
			map[string]string{"Attributes.SqsManagedSseEnabled": "false",
				"Attributes.KmsDataKeyReusePeriodSeconds": "-"}, nil},
		step{action: "CreateQueue", params: `{"QueueName":"r"}`},
		step{"CreateQueue", `{"QueueName":"r","Attributes":{"SqsManagedSseEnabled":"true"}}`, "", nil, nil},
		step{"CreateQueue", `{"QueueName":"r","Attributes":{"SqsManagedSseEnabled":"false"}}`, "QueueAlreadyExists",
			says("A queue already exists with the same name and a different value for attribute SqsManagedSseEnabled"),
			nil})},
	{"GetQueueAttributes", "refuses an attribute nobody knows",
		one("GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["Colour"]}`, "InvalidAttributeName",
			says("Unknown Attribute Colour."))},
	{"SetQueueAttributes", "changes attributes, and keeps the others", then(create("q"),
		step{action: "SetQueueAttributes",
			params: `{"QueueUrl":"q","Attributes":{"VisibilityTimeout":"5","Policy":"{\"Version\":\"2012-10-17\"}","KmsMasterKeyId":"alias/aws/sqs"}}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.VisibilityTimeout": "5", "Attributes.DelaySeconds": "0",
				"Attributes.KmsMasterKeyId": "alias/aws/sqs", "Attributes.Policy": ".*2012-10-17.*"}, nil})},
	{"SetQueueAttributes", "reads true and false in any case", []step{
		{"CreateQueue", `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"True","ContentBasedDeduplication":"FALSE"}}`,
			"", nil, nil},
		{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"ContentBasedDeduplication":"True","SqsManagedSseEnabled":"False"}}`, "", nil, nil},
		{"GetQueueAttributes", `{"QueueUrl":"q.fifo","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.FifoQueue": "true", "Attributes.ContentBasedDeduplication": "true",
				"Attributes.SqsManagedSseEnabled": "false"}, nil},
		{"CreateQueue", `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"TRUE"}}`, "", nil, nil},
		{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"ContentBasedDeduplication":"yes"}}`,
			"InvalidAttributeValue", says("Invalid value for the parameter ContentBasedDeduplication."), nil}}},
	{"SetQueueAttributes", "refuses what is out of range, and another type of queue",
		then([]step{{action: "CreateQueue", params: fifoQueue}},
			step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"VisibilityTimeout":"43201"}}`,
				"InvalidAttributeValue", says("Invalid value for the parameter VisibilityTimeout."), nil},
			step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"Policy":"{"}}`, "InvalidAttributeValue",
				says("Invalid value for the parameter Policy."), nil},
			step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"FifoQueue":"True"}}`, "", nil, nil},
			step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"FifoQueue":"false"}}`,
				"InvalidAttributeValue",
				says("Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."), nil},
			step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"FifoThroughputLimit":"perMessageGroupId"}}`,
				"InvalidAttributeValue",
				says("The perMessageGroupId value is allowed only when the value for DeduplicationScope is " +
					"messageGroup"),
				nil},
			step{action: "CreateQueue", params: `{"QueueName":"q"}`},
			step{"SetQueueAttributes", `{"QueueUrl":"q","Attributes":{"FifoQueue":"true"}}`, "InvalidAttributeName",
				says("Unknown Attribute FifoQueue."), nil},
			step{"SetQueueAttributes", `{"QueueUrl":"q"}`, "MissingParameter",
				says("The request must contain the parameter Attribute.Name."), nil},
			step{"SetQueueAttributes",
				`{"QueueUrl":"q.fifo","Attributes":{"FifoThroughputLimit":"perMessageGroupId","DeduplicationScope":"messageGroup"}}`, "", nil, nil})},
	{"SetQueueAttributes", "enforces the RedriveAllowPolicy of a dead-letter queue", then(create("dead", "q"),
		step{action: "SetQueueAttributes",
			params: `{"QueueUrl":"dead","Attributes":{"RedriveAllowPolicy":"{\"redrivePermission\":\"denyAll\"}"}}`},
		step{"SetQueueAttributes", `{"QueueUrl":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn +
			`dead\",\"maxReceiveCount\":3}"}}`, "InvalidParameterValue", nil, nil},
		step{action: "SetQueueAttributes", params: `{"QueueUrl":"dead","Attributes":{"RedriveAllowPolicy":""}}`},
		step{action: "SetQueueAttributes",
			params: `{"QueueUrl":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn +
				`dead\",\"maxReceiveCount\":3}"}}`})},
	{"SetQueueAttributes", "refuses a RedrivePolicy that cannot be followed", then(create("q"), redriveRefusals()...)},
	{"SetQueueAttributes", "takes a queue as its own dead-letter queue", then(create("q"),
		step{action: "SetQueueAttributes",
			params: `{"QueueUrl":"q","Attributes":{"VisibilityTimeout":"0","RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn + `q\",\"maxReceiveCount\":1}"}}`},
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"x"}`},
		step{"ReceiveMessage", `{"QueueUrl":"q"}`, "", map[string]string{"Messages.1.Body": "x"}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","MessageSystemAttributeNames":["ApproximateReceiveCount"]}`, "",
			map[string]string{"Messages.1.Body": "x", "Messages.1.Attributes.ApproximateReceiveCount": "2"}, nil},
		step{action: "SetQueueAttributes", params: `{"QueueUrl":"q","Attributes":{"RedrivePolicy":""}}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.RedrivePolicy": "-"}, nil})},
	{"ListQueueTags", "lists the tags of a queue",
		then(create("q"), step{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "-"}, nil})},
	{"TagQueue", "adds and replaces tags", then(create("q"),
		step{action: "TagQueue", params: `{"QueueUrl":"q","Tags":{"a":"1","b c":"2"}}`},
		step{action: "TagQueue", params: `{"QueueUrl":"q","Tags":{"a":"3"}}`},
		step{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "3", "Tags.b c": "2"}, nil},
		step{"TagQueue", `{"QueueUrl":"q"}`, "MissingParameter", says("The request must contain the parameter Tags."),
			nil})},
	{"UntagQueue", "removes tags", then(create("q"),
		step{action: "TagQueue", params: `{"QueueUrl":"q","Tags":{"a":"1","b":"2"}}`},
		step{action: "UntagQueue", params: `{"QueueUrl":"q","TagKeys":["a","x"]}`},
		step{"UntagQueue", `{"QueueUrl":"q","TagKeys":[]}`, "InvalidParameterValue",
			says("Tag keys must be between 1 and 128 characters in length."), nil},
		step{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "-", "Tags.b": "2"}, nil})},
	{"ListDeadLetterSourceQueues", "lists the queues whose dead letters come here", then(buried(),
		step{"ListDeadLetterSourceQueues", `{"QueueUrl":"dead"}`, "",
			map[string]string{"queueUrls.1": ".*/q", "queueUrls.2": "-"}, nil})},
	{"AddPermission", "adds a statement to the policy", then(create("q"),
		step{action: "AddPermission",
			params: `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["SendMessage","ReceiveMessage"]}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["Policy"]}`, "",
			map[string]string{"Attributes.Policy": `\{"Version":"2008-10-17","Id":"` + arn +
				`q/SQSDefaultPolicy","Statement":\[\{"Sid":"l","Effect":"Allow","Principal":\{"AWS":"arn:aws:iam::111111111111:root"\},"Action":\["SQS:SendMessage","SQS:ReceiveMessage"\],"Resource":"` + arn + `q"\}\]\}`}, nil})},
	{"AddPermission", "refuses a label that exists, and what cannot be granted", then(create("q"),
		step{action: "AddPermission",
			params: `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["*"]}`},
		step{"AddPermission", `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["*"]}`,
			"InvalidParameterValue", says("Value l for parameter Label is invalid. Reason: Already exists."), nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","AWSAccountIds":["111111111111"],"Actions":["CreateQueue"]}`,
			"InvalidParameterValue",
			says("Value SQS:CreateQueue for parameter ActionName is invalid. Reason: Only the queue owner is allowed " +
				"to invoke this action."), nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","AWSAccountIds":["111111111111"],"Actions":["Explode"]}`,
			"InvalidParameterValue",
			says("Value SQS:Explode for parameter ActionName is invalid. Reason: Please refer to the appropriate " +
				"WSDL for a list of valid actions."), nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","AWSAccountIds":["111111111111"],"Actions":["SendMessage","SendMessage","SendMessage","SendMessage","SendMessage","SendMessage","SendMessage","SendMessage"]}`, "OverLimit",
			says("8 Actions were found, maximum allowed is 7."), nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","AWSAccountIds":["1"],"Actions":["*"]}`,
			"InvalidParameterValue", says("Value [1] for parameter PrincipalId is invalid. Reason: Unable to verify."),
			nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","AWSAccountIds":["111111111111"]}`, "MissingParameter",
			says("The request must contain the parameter ActionName."), nil},
		step{"AddPermission", `{"QueueUrl":"q","AWSAccountIds":["111111111111"],"Actions":["*"]}`, "MissingParameter",
			says("The request must contain the parameter Label."), nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","Actions":["*"]}`, "MissingParameter",
			says("The request must contain the parameter AWSAccountIds."), nil})},
	{"RemovePermission", "removes a statement by its label", then(create("q"),
		step{action: "AddPermission",
			params: `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["*"]}`},
		step{action: "RemovePermission", params: `{"QueueUrl":"q","Label":"l"}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.Policy": "-"}, nil},
		step{"RemovePermission", `{"QueueUrl":"q","Label":"l"}`, "InvalidParameterValue",
			says("Value l for parameter Label is invalid. Reason: can't find label."), nil})},
	{"SendMessage", "stores a message and returns its id and checksums", one("SendMessage",
		`{"QueueUrl":"q","MessageBody":"hé","MessageAttributes":{"a":{"DataType":"Number.int","StringValue":"7"},"b":{"DataType":"Binary","BinaryValue":"AQI="}},"MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1-5759e988-bd862e3fe1be46a994272793"}}}`, "",
		map[string]string{"MessageId": uuid, "MD5OfMessageBody": "33fcd01258e6ba07ef405dc9e721f3a7",
			"MD5OfMessageAttributes":       "8fe280ddd9617be74b76c9a92a7ddb69",
			"MD5OfMessageSystemAttributes": "62a56dd927315f2b2e12832b84617ea5", "SequenceNumber": "-"})},
	{"SendMessage", "delays a message", then(create("q"),
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"x","DelaySeconds":900}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.ApproximateNumberOfMessagesDelayed": "1"}, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","DelaySeconds":901}`, "InvalidParameterValue",
			says("Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."),
			nil})},
	{"SendMessage", "stores the same FIFO message once in five minutes", []step{
		{action: "CreateQueue", params: fifoQueue},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"hello","MessageGroupId":"g"}`, "",
			map[string]string{"SequenceNumber": `\d{20}`},
			map[string]string{"id": "MessageId", "seq": "SequenceNumber"}},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"hello","MessageGroupId":"g"}`, "",
			map[string]string{"MessageId": "$id", "SequenceNumber": "$seq"}, nil},
		{"GetQueueAttributes", `{"QueueUrl":"q.fifo","AttributeNames":["ApproximateNumberOfMessages"]}`, "",
			map[string]string{"Attributes.ApproximateNumberOfMessages": "1"}, nil}}},
	{"SendMessage", "refuses what a FIFO queue does not take", []step{
		{action: "CreateQueue", params: `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"true"}}`},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageDeduplicationId":"d"}`, "MissingParameter",
			map[string]string{"": "The request must contain the parameter MessageGroupId\\."}, nil},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g"}`, "InvalidParameterValue",
			says("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided " +
				"explicitly"), nil},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":2}`, "InvalidParameterValue", map[string]string{"": "Value 2 for parameter DelaySeconds is invalid\\. Reason: The request include parameter that is not valid for this queue type\\."}, nil},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":0}`, "", nil, nil}}},
	{"SendMessage", "keeps a MessageGroupId on a standard queue, and refuses a MessageDeduplicationId",
		then(create("q"),
			step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageDeduplicationId":"d"}`,
				"InvalidParameterValue",
				nil, nil},
			step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"x","MessageGroupId":"tenant"}`},
			step{"ReceiveMessage", `{"QueueUrl":"q","MessageSystemAttributeNames":["MessageGroupId"]}`, "",
				map[string]string{"Messages.1.Attributes.MessageGroupId": "tenant"}, nil})},
	{"SendMessage", "refuses an empty body, forbidden characters and an empty attribute", then(create("q"),
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":""}`, "MissingParameter",
			map[string]string{"": "The request must contain the parameter MessageBody\\."}, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"a\u001ab"}`, "InvalidMessageContents",
			says("Invalid binary character '#x1A' was found in the message body, the set of allowed characters is " +
				"#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]."), nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"\uffff"}`, "InvalidMessageContents",
			map[string]string{"": "Invalid binary character '#xFFFF' was found.*"}, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageGroupId":"` + long + `"}`,
			"InvalidParameterValue",
			says("Value " + long + " for parameter MessageGroupId is invalid. Reason: MessageGroupId can only " +
				"include alphanumeric and punctuation characters. 1 to 128 in length."), nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageGroupId":""}`, "InvalidParameterValue",
			says("Value  for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include " +
				"alphanumeric and punctuation characters. 1 to 128 in length."), nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageSystemAttributes":{"Colour":{"DataType":"String","StringValue":"red"}}}`, "InvalidParameterValue",
			says("Message system attribute name 'Colour' is invalid."), nil})},
	{"SendMessage", "takes letters of any alphabet in the name of an attribute", then(create("q"),
		step{action: "SendMessage",
			params: `{"QueueUrl":"q","MessageBody":"x","MessageAttributes":{"attr.1øßä-名_b":{"DataType":"String","StringValue":"v"}}}`, want: map[string]string{"MD5OfMessageAttributes": "[0-9a-f]{32}"}},
		step{"ReceiveMessage", `{"QueueUrl":"q","MessageAttributeNames":["attr.1øßä-名_b"]}`, "",
			map[string]string{"Messages.1.MessageAttributes.attr.1øßä-名_b.StringValue": "v"}, nil})},
	{"SendMessage", "refuses names, types and values of attributes that are not allowed",
		then(create("q"), attributeRefusals()...)},
	{"SendMessageBatch", "stores up to ten messages, and tells which it refused", one("SendMessageBatch",
		`{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x","MessageAttributes":{"k":{"DataType":"String","StringValue":"v"}}},{"Id":"b","MessageBody":"\u0001"}]}`, "",
		map[string]string{"Successful.1.Id": "a", "Successful.1.MessageId": uuid,
			"Successful.1.MD5OfMessageAttributes": "[0-9a-f]{32}", "Successful.2.Id": "-", "Failed.1.Id": "b",
			"Failed.1.Code": "InvalidMessageContents", "Failed.1.SenderFault": "true", "Failed.1.Message": ".+"})},
	{"SendMessageBatch", "leaves out the list that would be empty", then(create("q"),
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x"}]}`, "",
			map[string]string{"Successful": "+", "Failed": "-"}, nil},
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":""}]}`, "",
			map[string]string{"Successful": "-", "Failed": "+"}, nil})},
	{"SendMessageBatch", "tells which message is too long", then(
		[]step{{action: "CreateQueue", params: `{"QueueName":"q","Attributes":{"MaximumMessageSize":"1024"}}`}},
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"b","MessageBody":"` +
			strings.Repeat("x", 1025) + `"}]}`, "", map[string]string{
			"Successful.1.Id": "a", "Failed.1.Id": "b", "Failed.1.Code": "InvalidParameterValue",
			"Failed.1.Message": "One or more parameters cannot be validated\\. Reason: Message must be shorter than " +
				"1024 bytes\\."}, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"` + strings.Repeat("x", 1025) + `"}`,
			"InvalidParameterValue", says("One or more parameters are invalid. Reason: Message must be shorter than " +
				"1024 bytes."), nil})},
	{"SendMessageBatch", "refuses a batch that is empty, too large, or with bad ids", then(create("q"),
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[]}`, "AWS.SimpleQueueService.EmptyBatchRequest",
			says("There should be at least one SendMessageBatchRequestEntry in the request."), nil},
		step{"SendMessageBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"a","MessageBody":"x"}]}`,
			"AWS.SimpleQueueService.BatchEntryIdsNotDistinct", nil, nil},
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a:b","MessageBody":"x"}]}`,
			"AWS.SimpleQueueService.InvalidBatchEntryId", nil, nil},
		step{"SendMessageBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"1"},{"Id":"2"},{"Id":"3"},{"Id":"4"},{"Id":"5"},{"Id":"6"},{"Id":"7"},{"Id":"8"},{"Id":"9"},{"Id":"10"},{"Id":"11"}]}`, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", map[string]string{"": "Maximum number of entries per request are 10\\. You have sent 11\\."}, nil})},
	{"SendMessageBatch", "refuses the whole batch if a FIFO message lacks its group, or a deduplication id that the " +
		"queue does not make", []step{
		{action: "CreateQueue", params: `{"QueueName":"d.fifo","Attributes":{"FifoQueue":"true"}}`},
		{"SendMessageBatch", `{"QueueUrl":"d.fifo","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"1"},{"Id":"b","MessageBody":"y","MessageGroupId":"g"}]}`, "InvalidParameterValue",
			says("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided " +
				"explicitly"), nil},
		{"GetQueueAttributes", `{"QueueUrl":"d.fifo","AttributeNames":["ApproximateNumberOfMessages"]}`, "",
			map[string]string{"Attributes.ApproximateNumberOfMessages": "0"}, nil},
		{action: "CreateQueue", params: fifoQueue},
		{"SendMessageBatch", `{"QueueUrl":"q.fifo","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":"g"},{"Id":"b","MessageBody":"y"}]}`, "InvalidParameterValue", map[string]string{"": "The request must contain the parameter MessageGroupId\\."}, nil},
		{"SendMessageBatch", `{"QueueUrl":"q.fifo","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":"g"}]}`, "",
			map[string]string{"Successful.1.SequenceNumber": `\d{20}`}, nil}}},
	{"ReceiveMessage", "returns messages with the attributes that are asked for", then(create("q"),
		step{action: "SendMessage",
			params: `{"QueueUrl":"q","MessageBody":"hé","MessageAttributes":{"a":{"DataType":"Number.int","StringValue":"7"},"b.c":{"DataType":"Binary","BinaryValue":"AQI="}}}`, keep: map[string]string{"id": "MessageId"}},
		step{"ReceiveMessage", `{"QueueUrl":"q","MessageSystemAttributeNames":["All"],"MessageAttributeNames":["b.*"],"MaxNumberOfMessages":10}`, "", map[string]string{
			"Messages.1.MessageId": "$id", "Messages.1.Body": "hé",
			"Messages.1.MD5OfBody": "33fcd01258e6ba07ef405dc9e721f3a7", "Messages.1.ReceiptHandle": ".{20,1000}",
			"Messages.2.Body":                     "-",
			"Messages.1.Attributes.SentTimestamp": `\d{13}`, "Messages.1.Attributes.ApproximateReceiveCount": "1",
			"Messages.1.Attributes.ApproximateFirstReceiveTimestamp": `\d{13}`, "Messages.1.Attributes.SenderId": ".+",
			"Messages.1.MessageAttributes.b.c.DataType":    "Binary",
			"Messages.1.MessageAttributes.b.c.BinaryValue": "AQI=", "Messages.1.MessageAttributes.a.DataType": "-",
			"Messages.1.MD5OfMessageAttributes": "[0-9a-f]{32}"}, nil})},
	{"ReceiveMessage", "selects attributes by name, by the beginning of the name, or all",
		then(create("r"), selections()...)},
	{"ReceiveMessage", "accepts AttributeNames as the former name of MessageSystemAttributeNames", then(create("q"),
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"x"}`},
		step{"ReceiveMessage", `{"QueueUrl":"q","AttributeNames":["ApproximateReceiveCount"]}`, "",
			map[string]string{"Messages.1.Attributes.ApproximateReceiveCount": "1",
				"Messages.1.Attributes.SenderId": "-"}, nil})},
	{"ReceiveMessage", "returns no list if there is nothing, after the wait",
		one("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":1}`, "", map[string]string{"Messages.1.Body": "-"})},
	{"ReceiveMessage", "refuses what is out of range", then(create("q"),
		step{"ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":11}`, "InvalidParameterValue",
			map[string]string{"": "Value 11 for parameter MaxNumberOfMessages is invalid\\. Reason: Must be between " +
				"1 and 10, if provided\\."}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":21}`, "InvalidParameterValue",
			map[string]string{"": "Value 21 for parameter WaitTimeSeconds is invalid\\. Reason: Must be >= 0 and <= " +
				"20, if provided\\."}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","VisibilityTimeout":43201}`, "InvalidParameterValue",
			says("Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if " +
				"provided."), nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","MessageSystemAttributeNames":["Colour"]}`, "InvalidAttributeName",
			says("Unknown Attribute Colour."), nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","ReceiveRequestAttemptId":"a"}`, "InvalidParameterValue", nil, nil})},
	{"ReceiveMessage", "keeps the order of each FIFO group, one group after the other", []step{
		{action: "CreateQueue", params: fifoQueue},
		{action: "SendMessageBatch",
			params: `{"QueueUrl":"q.fifo","Entries":[{"Id":"1","MessageBody":"g1-m1","MessageGroupId":"g1"},{"Id":"2","MessageBody":"g2-m1","MessageGroupId":"g2"},{"Id":"3","MessageBody":"g1-m2","MessageGroupId":"g1"}]}`},
		{"ReceiveMessage", `{"QueueUrl":"q.fifo","MaxNumberOfMessages":10,"MessageSystemAttributeNames":["All"]}`, "",
			map[string]string{
				"Messages.1.Body": "g1-m1", "Messages.2.Body": "g1-m2", "Messages.3.Body": "g2-m1",
				"Messages.1.Attributes.MessageGroupId":         "g1",
				"Messages.1.Attributes.SequenceNumber":         `\d{20}`,
				"Messages.1.Attributes.MessageDeduplicationId": "[0-9a-f]{64}"}, nil}}},
	{"ReceiveMessage", "gives a repeated FIFO attempt the same messages", []step{
		{action: "CreateQueue", params: fifoQueue},
		{action: "SendMessage", params: `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g"}`},
		{action: "ReceiveMessage", params: `{"QueueUrl":"q.fifo","ReceiveRequestAttemptId":"a"}`,
			keep: map[string]string{"h": "Messages.1.ReceiptHandle"}},
		{"ReceiveMessage", `{"QueueUrl":"q.fifo","ReceiveRequestAttemptId":"b"}`, "",
			map[string]string{"Messages.1.Body": "-"}, nil},
		{"ReceiveMessage", `{"QueueUrl":"q.fifo","ReceiveRequestAttemptId":"a"}`, "",
			map[string]string{"Messages.1.ReceiptHandle": "$h"}, nil}}},
	{"ReceiveMessage", "moves what was received too often to the dead-letter queue", then(buried(),
		step{"ReceiveMessage", `{"QueueUrl":"dead","MessageSystemAttributeNames":["All"]}`, "",
			map[string]string{"Messages.1.Body": "poison", "Messages.1.Attributes.DeadLetterQueueSourceArn": arn + "q"},
			nil})},
	{"DeleteMessage", "deletes a message; again is a success", then(held(),
		step{action: "DeleteMessage", params: `{"QueueUrl":"q","ReceiptHandle":"$h"}`},
		step{action: "DeleteMessage", params: `{"QueueUrl":"q","ReceiptHandle":"$h"}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "",
			map[string]string{"Attributes.ApproximateNumberOfMessagesNotVisible": "0"}, nil})},
	{"DeleteMessage", "refuses a handle that is forged",
		one("DeleteMessage", `{"QueueUrl":"q","ReceiptHandle":"forged"}`, "ReceiptHandleIsInvalid",
			says(`The input receipt handle "forged" is not a valid receipt handle.`))},
	{"DeleteMessage", "refuses a handle of another queue", then(held(),
		step{action: "CreateQueue", params: `{"QueueName":"r"}`},
		step{"DeleteMessage", `{"QueueUrl":"r","ReceiptHandle":"$h"}`, "ReceiptHandleIsInvalid",
			map[string]string{"": `The receipt handle "$h" is not valid for this queue\.`}, nil})},
	{"DeleteMessage", "refuses an expired handle of a FIFO queue", []step{
		{action: "CreateQueue", params: fifoQueue},
		{action: "SendMessage", params: `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g"}`},
		{action: "ReceiveMessage", params: `{"QueueUrl":"q.fifo","VisibilityTimeout":0}`,
			keep: map[string]string{"h": "Messages.1.ReceiptHandle"}},
		{"DeleteMessage", `{"QueueUrl":"q.fifo","ReceiptHandle":"$h"}`, "InvalidParameterValue",
			map[string]string{"": "Value $h for parameter ReceiptHandle is invalid\\. Reason: The receipt handle has " +
				"expired\\."}, nil}}},
	{"DeleteMessageBatch", "deletes up to ten messages, and tells which it could not", then(held(),
		step{"DeleteMessageBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"$h"},{"Id":"b","ReceiptHandle":"forged"}]}`, "",
			map[string]string{"Successful.1.Id": "a", "Failed.1.Id": "b", "Failed.1.Code": "ReceiptHandleIsInvalid",
				"Failed.1.SenderFault": "true"}, nil},
		step{"DeleteMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"$h"}]}`, "",
			map[string]string{"Successful": "+", "Failed": "-"}, nil},
		step{"DeleteMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"forged"}]}`, "",
			map[string]string{"Successful": "-", "Failed": "+"}, nil},
		step{"DeleteMessageBatch", `{"QueueUrl":"q","Entries":[]}`, "AWS.SimpleQueueService.EmptyBatchRequest",
			says("There should be at least one DeleteMessageBatchRequestEntry in the request."), nil})},
	{"ChangeMessageVisibility", "hands a message back, or holds it longer", then(held(),
		step{action: "ChangeMessageVisibility", params: `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":60}`},
		step{action: "ChangeMessageVisibility", params: `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":0}`},
		step{"ReceiveMessage", `{"QueueUrl":"q"}`, "", map[string]string{"Messages.1.Body": "hello"}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q"}`, "", map[string]string{"Messages.1.Body": "-"}, nil})},
	{"ChangeMessageVisibility", "takes an older handle of the message", then(held(),
		step{action: "ChangeMessageVisibility", params: `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":0}`},
		step{"ReceiveMessage", `{"QueueUrl":"q","VisibilityTimeout":600}`, "",
			map[string]string{"Messages.1.Body": "hello"}, nil},
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":0}`, "", nil, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","VisibilityTimeout":0,"MessageSystemAttributeNames":["All"]}`, "",
			map[string]string{"Messages.1.Attributes.ApproximateReceiveCount": "3"}, nil},
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":60}`, "", nil, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q"}`, "", map[string]string{"Messages.1.Body": "-"}, nil})},
	{"ChangeMessageVisibility", "refuses a message that is deleted", then(held(),
		step{action: "DeleteMessage", params: `{"QueueUrl":"q","ReceiptHandle":"$h"}`},
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":42}`,
			"InvalidParameterValue",
			map[string]string{"": "Value $h for parameter ReceiptHandle is invalid\\. Reason: Message does not exist " +
				"or is not available for visibility timeout change\\."}, nil})},
	{"ChangeMessageVisibility", "refuses more than twelve hours in all", then(held(),
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":43201}`,
			"InvalidParameterValue", says("Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be " +
				"between 0 and 43200."), nil},
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h"}`, "MissingParameter", nil, nil})},
	{"ChangeMessageVisibilityBatch", "changes up to ten messages, and tells which it could not", then(held(),
		step{"ChangeMessageVisibilityBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"$h","VisibilityTimeout":0},{"Id":"b","ReceiptHandle":"forged","VisibilityTimeout":1}]}`, "", map[string]string{"Successful.1.Id": "a", "Failed.1.Id": "b", "Failed.1.Code": "ReceiptHandleIsInvalid"}, nil},
		step{"ChangeMessageVisibilityBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"$h","VisibilityTimeout":0}]}`, "",
			map[string]string{"Successful": "+", "Failed": "-"}, nil},
		step{"ChangeMessageVisibilityBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"forged","VisibilityTimeout":0}]}`, "",
			map[string]string{"Successful": "-", "Failed": "+"}, nil},
		step{"ChangeMessageVisibilityBatch", `{"QueueUrl":"q","Entries":[]}`,
			"AWS.SimpleQueueService.EmptyBatchRequest",
			says("There should be at least one ChangeMessageVisibilityBatch in the request."), nil})},
	{"StartMessageMoveTask", "moves dead letters back to where they came from", then(buried(),
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead","MaxNumberOfMessagesPerSecond":500}`, "",
			map[string]string{"TaskHandle": ".+"}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":10}`, "",
			map[string]string{"Messages.1.Body": "poison"}, nil})},
	{"StartMessageMoveTask", "refuses a queue that does not exist or is no dead-letter queue, and a second task",
		then(buried(),
			step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `none"}`, "ResourceNotFoundException",
				map[string]string{"": "The resource that you specified for the SourceArn parameter doesn't exist\\."},
				nil},
			step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead","DestinationArn":"` + arn + `none"}`,
				"ResourceNotFoundException",
				says("The resource that you specified for the DestinationArn parameter doesn't exist."), nil},
			step{"StartMessageMoveTask", `{"SourceArn":"dead"}`, "InvalidParameterValue",
				says("You must use this format to specify the SourceArn: " +
					"arn:<partition>:<service>:<region>:<account-id>:<resource-id>"), nil},
			step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead","DestinationArn":"` + arn + `dead"}`,
				"InvalidParameterValue", says("Source queue arn and destination queue arn cannot be the same."), nil},
			step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `q"}`, "InvalidParameterValue",
				map[string]string{"": "Source queue must be configured as a Dead Letter Queue\\."}, nil},
			step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead","MaxNumberOfMessagesPerSecond":501}`,
				"InvalidParameterValue",
				says("Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a number " +
					"that's between 1 and 500."), nil},
			step{"StartMessageMoveTask", `{}`, "MissingParameter", nil, nil})},
	{"ListMessageMoveTasks", "lists the last tasks of a queue, the newest first", then(buried(),
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead"}`, "", map[string]string{"Results.1.Status": "-"},
			nil},
		step{action: "SendMessageBatch",
			params: `{"QueueUrl":"dead","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"b","MessageBody":"y"},{"Id":"c","MessageBody":"z"}]}`},
		step{action: "StartMessageMoveTask", params: `{"SourceArn":"` + arn + `dead","DestinationArn":"` + arn +
			`q","MaxNumberOfMessagesPerSecond":1}`, keep: map[string]string{"h": "TaskHandle"}},
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead","MaxResults":10}`, "", map[string]string{
			"Results.1.Status": "RUNNING", "Results.1.TaskHandle": "$h", "Results.1.SourceArn": arn + "dead",
			"Results.1.DestinationArn": arn + "q", "Results.1.MaxNumberOfMessagesPerSecond": "1",
			"Results.1.ApproximateNumberOfMessagesToMove": "4", "Results.1.ApproximateNumberOfMessagesMoved": `\d`,
			"Results.1.StartedTimestamp": `\d{13}`, "Results.1.FailureReason": "-"}, nil},
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead","MaxResults":11}`, "InvalidParameterValue",
			says("Value for parameter MaxResults is invalid. Reason: You must enter a number that's between 1 and 10."),
			nil})},
	{"CancelMessageMoveTask", "ends a running task and tells how many were moved", then(buried(),
		step{action: "SendMessageBatch",
			params: `{"QueueUrl":"dead","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"b","MessageBody":"y"},{"Id":"c","MessageBody":"z"}]}`},
		step{action: "StartMessageMoveTask", params: `{"SourceArn":"` + arn + `dead","DestinationArn":"` + arn +
			`q","MaxNumberOfMessagesPerSecond":1}`, keep: map[string]string{"h": "TaskHandle"}},
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead"}`, "InvalidParameterValue",
			says("There is already a task running. Only one active task is allowed for a source queue arn at a given " +
				"time."), nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"$h"}`, "",
			map[string]string{"ApproximateNumberOfMessagesMoved": `\d`}, nil},
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead"}`, "",
			map[string]string{"Results.1.Status": "CANCELLED", "Results.1.TaskHandle": "-"}, nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"$h"}`, "AWS.SimpleQueueService.UnsupportedOperation", nil, nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"` + taskHandle(arn+"none") + `"}`, "ResourceNotFoundException",
			says("The resource that you specified for the SourceArn parameter doesn't exist."), nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"` + taskHandle(arn+"dead") + `"}`, "ResourceNotFoundException",
			says("Task does not exist."), nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"eyJ0YXNrSWQiOiIxIn0="}`, "InvalidParameterValue",
			says("Value for parameter TaskHandle is invalid."), nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"forged"}`, "InvalidParameterValue",
			says("Value for parameter TaskHandle is invalid."), nil})},
}
