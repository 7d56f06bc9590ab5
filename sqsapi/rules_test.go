package sqsapi

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
		step{action: "ReceiveMessage", params: `{"QueueUrl":"q"}`, keep: map[string]string{"h": "Messages.1.ReceiptHandle"}})
}

// buried makes dead the dead-letter queue of q, with one message that came from there.
func buried() []step {
	return then(create("dead"),
		step{action: "CreateQueue", params: `{"QueueName":"q","Attributes":{"VisibilityTimeout":"0","RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn + `dead\",\"maxReceiveCount\":\"1\"}"}}`},
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"poison"}`},
		step{action: "ReceiveMessage", params: `{"QueueUrl":"q"}`, want: map[string]string{"Messages.1.Body": "poison"}},
		step{action: "ReceiveMessage", params: `{"QueueUrl":"q"}`, want: map[string]string{"Messages.1.Body": "-"}})
}

// rules are shown over every protocol and listed in the documentation.
var rules = []rule{
	{"CreateQueue", "creates a queue with attributes and tags and returns its URL", []step{
		{"CreateQueue", `{"QueueName":"q","Attributes":{"DelaySeconds":"3"},"tags":{"a":"1"}}`, "", map[string]string{"QueueUrl": `$url/000000000000/q`}, nil},
		{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["DelaySeconds"]}`, "", map[string]string{"Attributes.DelaySeconds": "3"}, nil},
		{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "1"}, nil}}},
	{"CreateQueue", "creates FIFO queues", []step{{"CreateQueue", fifoQueue, "", map[string]string{"QueueUrl": `.*/q\.fifo`}, nil}}},
	{"CreateQueue", "succeeds for a queue that exists with the same attributes", one("CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"30"}}`, "", nil)},
	{"CreateQueue", "refuses a queue that exists with another value, and names the attribute", one("CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"31"}}`, "QueueAlreadyExists", map[string]string{"": ".*VisibilityTimeout"})},
	{"CreateQueue", "refuses names and attributes that are not allowed", []step{
		{"CreateQueue", `{"QueueName":"a.b"}`, "InvalidParameterValue", nil, nil},
		{"CreateQueue", `{}`, "MissingParameter", nil, nil},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"Colour":"red"}}`, "InvalidAttributeName", map[string]string{"": "Unknown Attribute Colour\\."}, nil},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"ContentBasedDeduplication":"true"}}`, "InvalidAttributeName", map[string]string{"": "Unknown Attribute ContentBasedDeduplication\\."}, nil},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"FifoThroughputLimit":"perQueue"}}`, "InvalidAttributeName", map[string]string{"": "You can specify the FifoThroughputLimit only when FifoQueue is set to true\\."}, nil}}},
	{"CreateQueue", "strict: refuses the name of a queue deleted less than 60 s ago", then(create("q"),
		step{action: "DeleteQueue", params: `{"QueueUrl":"q"}`},
		step{"CreateQueue", `{"QueueName":"q"}`, "AWS.SimpleQueueService.QueueDeletedRecently", nil, nil})},
	{"GetQueueUrl", "returns the URL of a queue", one("GetQueueUrl", `{"QueueName":"q"}`, "", map[string]string{"QueueUrl": `$url/000000000000/q`})},
	{"GetQueueUrl", "refuses a queue that does not exist, or of another account", one("GetQueueUrl", `{"QueueName":"q","QueueOwnerAWSAccountId":"111111111111"}`, "AWS.SimpleQueueService.NonExistentQueue", map[string]string{"": "The specified queue does not exist( for this wsdl version)?\\."})},
	{"ListQueues", "lists queues by prefix and in pages", then(create("qa", "qb", "r"),
		step{"ListQueues", `{"QueueNamePrefix":"q","MaxResults":1}`, "", map[string]string{"QueueUrls.1": ".*/qa", "QueueUrls.2": "-"}, map[string]string{"n": "NextToken"}},
		step{"ListQueues", `{"QueueNamePrefix":"q","MaxResults":1,"NextToken":"$n"}`, "", map[string]string{"QueueUrls.1": ".*/qb", "NextToken": "-"}, nil},
		step{"ListQueues", `{"MaxResults":1001}`, "InvalidParameterValue", nil, nil})},
	{"DeleteQueue", "deletes a queue at once", then(create("q"),
		step{action: "DeleteQueue", params: `{"QueueUrl":"q"}`},
		step{"GetQueueUrl", `{"QueueName":"q"}`, "AWS.SimpleQueueService.NonExistentQueue", nil, nil})},
	{"PurgeQueue", "deletes all messages; strict: once in 60 s", then(held(),
		step{action: "PurgeQueue", params: `{"QueueUrl":"q"}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["ApproximateNumberOfMessagesNotVisible"]}`, "", map[string]string{"Attributes.ApproximateNumberOfMessagesNotVisible": "0"}, nil},
		step{"PurgeQueue", `{"QueueUrl":"q"}`, "AWS.SimpleQueueService.PurgeQueueInProgress", nil, nil})},
	{"GetQueueAttributes", "returns the attributes that are asked for, or All", then(create("q"),
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["QueueArn","DelaySeconds"]}`, "", map[string]string{"Attributes.QueueArn": arn + "q", "Attributes.DelaySeconds": "0", "Attributes.VisibilityTimeout": "-"}, nil},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "", map[string]string{"Attributes.MaximumMessageSize": "1048576", "Attributes.MessageRetentionPeriod": "345600", "Attributes.CreatedTimestamp": `\d{10}`, "Attributes.ApproximateNumberOfMessages": "0"}, nil},
		step{"GetQueueAttributes", `{"QueueUrl":"q"}`, "", map[string]string{"Attributes.QueueArn": "-"}, nil})},
	{"GetQueueAttributes", "refuses an attribute nobody knows", one("GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["Colour"]}`, "InvalidAttributeName", nil)},
	{"SetQueueAttributes", "changes attributes, and keeps the others", then(create("q"),
		step{action: "SetQueueAttributes", params: `{"QueueUrl":"q","Attributes":{"VisibilityTimeout":"5","Policy":"{\"Version\":\"2012-10-17\"}","KmsMasterKeyId":"alias/aws/sqs"}}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "", map[string]string{"Attributes.VisibilityTimeout": "5", "Attributes.DelaySeconds": "0", "Attributes.KmsMasterKeyId": "alias/aws/sqs", "Attributes.Policy": ".*2012-10-17.*"}, nil})},
	{"SetQueueAttributes", "refuses what is out of range, and another type of queue", then([]step{{action: "CreateQueue", params: fifoQueue}},
		step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"VisibilityTimeout":"43201"}}`, "InvalidAttributeValue", nil, nil},
		step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"FifoQueue":"false"}}`, "InvalidAttributeValue", nil, nil},
		step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"FifoThroughputLimit":"perMessageGroupId"}}`, "InvalidAttributeValue", nil, nil},
		step{"SetQueueAttributes", `{"QueueUrl":"q.fifo","Attributes":{"FifoThroughputLimit":"perMessageGroupId","DeduplicationScope":"messageGroup"}}`, "", nil, nil})},
	{"SetQueueAttributes", "enforces the RedriveAllowPolicy of a dead-letter queue", then(create("dead", "q"),
		step{action: "SetQueueAttributes", params: `{"QueueUrl":"dead","Attributes":{"RedriveAllowPolicy":"{\"redrivePermission\":\"denyAll\"}"}}`},
		step{"SetQueueAttributes", `{"QueueUrl":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn + `dead\",\"maxReceiveCount\":3}"}}`, "InvalidAttributeValue", nil, nil},
		step{action: "SetQueueAttributes", params: `{"QueueUrl":"dead","Attributes":{"RedriveAllowPolicy":""}}`},
		step{action: "SetQueueAttributes", params: `{"QueueUrl":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn + `dead\",\"maxReceiveCount\":3}"}}`})},
	{"ListQueueTags", "lists the tags of a queue", then(create("q"), step{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "-"}, nil})},
	{"TagQueue", "adds and replaces tags", then(create("q"),
		step{action: "TagQueue", params: `{"QueueUrl":"q","Tags":{"a":"1","b c":"2"}}`},
		step{action: "TagQueue", params: `{"QueueUrl":"q","Tags":{"a":"3"}}`},
		step{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "3", "Tags.b c": "2"}, nil},
		step{"TagQueue", `{"QueueUrl":"q"}`, "MissingParameter", nil, nil})},
	{"UntagQueue", "removes tags", then(create("q"),
		step{action: "TagQueue", params: `{"QueueUrl":"q","Tags":{"a":"1","b":"2"}}`},
		step{action: "UntagQueue", params: `{"QueueUrl":"q","TagKeys":["a","x"]}`},
		step{"ListQueueTags", `{"QueueUrl":"q"}`, "", map[string]string{"Tags.a": "-", "Tags.b": "2"}, nil})},
	{"ListDeadLetterSourceQueues", "lists the queues whose dead letters come here", then(buried(),
		step{"ListDeadLetterSourceQueues", `{"QueueUrl":"dead"}`, "", map[string]string{"queueUrls.1": ".*/q", "queueUrls.2": "-"}, nil})},
	{"AddPermission", "adds a statement to the policy", then(create("q"),
		step{action: "AddPermission", params: `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["SendMessage","ReceiveMessage"]}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["Policy"]}`, "", map[string]string{"Attributes.Policy": `\{"Version":"2008-10-17","Id":"` + arn + `q/SQSDefaultPolicy","Statement":\[\{"Sid":"l","Effect":"Allow","Principal":\{"AWS":"arn:aws:iam::111111111111:root"\},"Action":\["SQS:SendMessage","SQS:ReceiveMessage"\],"Resource":"` + arn + `q"\}\]\}`}, nil})},
	{"AddPermission", "refuses a label that exists, and what cannot be granted", then(create("q"),
		step{action: "AddPermission", params: `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["*"]}`},
		step{"AddPermission", `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["*"]}`, "InvalidParameterValue", map[string]string{"": ".*Already exists\\."}, nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","AWSAccountIds":["111111111111"],"Actions":["CreateQueue"]}`, "InvalidParameterValue", nil, nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","AWSAccountIds":["1"],"Actions":["*"]}`, "InvalidParameterValue", nil, nil},
		step{"AddPermission", `{"QueueUrl":"q","Label":"m","Actions":["*"]}`, "MissingParameter", nil, nil})},
	{"RemovePermission", "removes a statement by its label", then(create("q"),
		step{action: "AddPermission", params: `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["*"]}`},
		step{action: "RemovePermission", params: `{"QueueUrl":"q","Label":"l"}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "", map[string]string{"Attributes.Policy": "-"}, nil},
		step{"RemovePermission", `{"QueueUrl":"q","Label":"l"}`, "InvalidParameterValue", map[string]string{"": ".*can't find label.*"}, nil})},
	{"SendMessage", "stores a message and returns its id and checksums", one("SendMessage",
		`{"QueueUrl":"q","MessageBody":"hé","MessageAttributes":{"a":{"DataType":"Number.int","StringValue":"7"},"b":{"DataType":"Binary","BinaryValue":"AQI="}},"MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1-5759e988-bd862e3fe1be46a994272793"}}}`, "",
		map[string]string{"MessageId": uuid, "MD5OfMessageBody": "33fcd01258e6ba07ef405dc9e721f3a7", "MD5OfMessageAttributes": "8fe280ddd9617be74b76c9a92a7ddb69", "MD5OfMessageSystemAttributes": "62a56dd927315f2b2e12832b84617ea5", "SequenceNumber": "-"})},
	{"SendMessage", "delays a message", then(create("q"),
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"x","DelaySeconds":900}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "", map[string]string{"Attributes.ApproximateNumberOfMessagesDelayed": "1"}, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","DelaySeconds":901}`, "InvalidParameterValue", nil, nil})},
	{"SendMessage", "stores the same FIFO message once in five minutes", []step{
		{action: "CreateQueue", params: fifoQueue},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"hello","MessageGroupId":"g"}`, "", map[string]string{"SequenceNumber": `\d{20}`}, map[string]string{"id": "MessageId", "seq": "SequenceNumber"}},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"hello","MessageGroupId":"g"}`, "", map[string]string{"MessageId": "$id", "SequenceNumber": "$seq"}, nil},
		{"GetQueueAttributes", `{"QueueUrl":"q.fifo","AttributeNames":["ApproximateNumberOfMessages"]}`, "", map[string]string{"Attributes.ApproximateNumberOfMessages": "1"}, nil}}},
	{"SendMessage", "refuses what a FIFO queue does not take", []step{
		{action: "CreateQueue", params: `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"true"}}`},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageDeduplicationId":"d"}`, "MissingParameter", map[string]string{"": "The request must contain the parameter MessageGroupId\\."}, nil},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g"}`, "InvalidParameterValue", map[string]string{"": ".*ContentBasedDeduplication.*"}, nil},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":2}`, "InvalidParameterValue", map[string]string{"": "Value 2 for parameter DelaySeconds is invalid\\. Reason: The request include parameter that is not valid for this queue type\\."}, nil},
		{"SendMessage", `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":0}`, "", nil, nil}}},
	{"SendMessage", "keeps a MessageGroupId on a standard queue, and refuses a MessageDeduplicationId", then(create("q"),
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageDeduplicationId":"d"}`, "InvalidParameterValue", nil, nil},
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"x","MessageGroupId":"tenant"}`},
		step{"ReceiveMessage", `{"QueueUrl":"q","MessageSystemAttributeNames":["MessageGroupId"]}`, "", map[string]string{"Messages.1.Attributes.MessageGroupId": "tenant"}, nil})},
	{"SendMessage", "refuses an empty body, forbidden characters and an empty attribute", then(create("q"),
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":""}`, "MissingParameter", map[string]string{"": "The request must contain the parameter MessageBody\\."}, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"\u0002"}`, "InvalidMessageContents", nil, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageGroupId":"a b"}`, "InvalidParameterValue", nil, nil},
		step{"SendMessage", `{"QueueUrl":"q","MessageBody":"x","MessageAttributes":{"a":{"DataType":"String","StringValue":""}}}`, "InvalidParameterValue", map[string]string{"": ".*must contain a non-empty value of type String\\."}, nil})},
	{"SendMessageBatch", "stores up to ten messages, and tells which it refused", one("SendMessageBatch",
		`{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x","MessageAttributes":{"k":{"DataType":"String","StringValue":"v"}}},{"Id":"b","MessageBody":"\u0001"}]}`, "",
		map[string]string{"Successful.1.Id": "a", "Successful.1.MessageId": uuid, "Successful.1.MD5OfMessageAttributes": "[0-9a-f]{32}", "Successful.2.Id": "-", "Failed.1.Id": "b", "Failed.1.Code": "InvalidMessageContents", "Failed.1.SenderFault": "true", "Failed.1.Message": ".+"})},
	{"SendMessageBatch", "refuses a batch that is empty, too large, or with bad ids", then(create("q"),
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[]}`, "AWS.SimpleQueueService.EmptyBatchRequest", nil, nil},
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"a","MessageBody":"x"}]}`, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", nil, nil},
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a:b","MessageBody":"x"}]}`, "AWS.SimpleQueueService.InvalidBatchEntryId", nil, nil},
		step{"SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"1"},{"Id":"2"},{"Id":"3"},{"Id":"4"},{"Id":"5"},{"Id":"6"},{"Id":"7"},{"Id":"8"},{"Id":"9"},{"Id":"10"},{"Id":"11"}]}`, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", map[string]string{"": "Maximum number of entries per request are 10\\. You have sent 11\\."}, nil})},
	{"SendMessageBatch", "refuses the whole batch if a FIFO message lacks its group", []step{
		{action: "CreateQueue", params: fifoQueue},
		{"SendMessageBatch", `{"QueueUrl":"q.fifo","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":"g"},{"Id":"b","MessageBody":"y"}]}`, "InvalidParameterValue", map[string]string{"": "The request must contain the parameter MessageGroupId\\."}, nil},
		{"SendMessageBatch", `{"QueueUrl":"q.fifo","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":"g"}]}`, "", map[string]string{"Successful.1.SequenceNumber": `\d{20}`}, nil}}},
	{"ReceiveMessage", "returns messages with the attributes that are asked for", then(create("q"),
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"hé","MessageAttributes":{"a":{"DataType":"Number.int","StringValue":"7"},"b.c":{"DataType":"Binary","BinaryValue":"AQI="}}}`, keep: map[string]string{"id": "MessageId"}},
		step{"ReceiveMessage", `{"QueueUrl":"q","MessageSystemAttributeNames":["All"],"MessageAttributeNames":["b.*"],"MaxNumberOfMessages":10}`, "", map[string]string{
			"Messages.1.MessageId": "$id", "Messages.1.Body": "hé", "Messages.1.MD5OfBody": "33fcd01258e6ba07ef405dc9e721f3a7", "Messages.1.ReceiptHandle": ".{20,1000}", "Messages.2.Body": "-",
			"Messages.1.Attributes.SentTimestamp": `\d{13}`, "Messages.1.Attributes.ApproximateReceiveCount": "1", "Messages.1.Attributes.ApproximateFirstReceiveTimestamp": `\d{13}`, "Messages.1.Attributes.SenderId": ".+",
			"Messages.1.MessageAttributes.b.c.DataType": "Binary", "Messages.1.MessageAttributes.b.c.BinaryValue": "AQI=", "Messages.1.MessageAttributes.a.DataType": "-", "Messages.1.MD5OfMessageAttributes": "[0-9a-f]{32}"}, nil})},
	{"ReceiveMessage", "accepts AttributeNames as the former name of MessageSystemAttributeNames", then(create("q"),
		step{action: "SendMessage", params: `{"QueueUrl":"q","MessageBody":"x"}`},
		step{"ReceiveMessage", `{"QueueUrl":"q","AttributeNames":["ApproximateReceiveCount"]}`, "", map[string]string{"Messages.1.Attributes.ApproximateReceiveCount": "1", "Messages.1.Attributes.SenderId": "-"}, nil})},
	{"ReceiveMessage", "returns no list if there is nothing, after the wait", one("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":1}`, "", map[string]string{"Messages.1.Body": "-"})},
	{"ReceiveMessage", "refuses what is out of range", then(create("q"),
		step{"ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":11}`, "InvalidParameterValue", map[string]string{"": "Value 11 for parameter MaxNumberOfMessages is invalid\\. Reason: Must be between 1 and 10, if provided\\."}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":21}`, "InvalidParameterValue", map[string]string{"": "Value 21 for parameter WaitTimeSeconds is invalid\\. Reason: Must be >= 0 and <= 20, if provided\\."}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","VisibilityTimeout":43201}`, "InvalidParameterValue", nil, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","ReceiveRequestAttemptId":"a"}`, "InvalidParameterValue", nil, nil})},
	{"ReceiveMessage", "keeps the order of each FIFO group, one group after the other", []step{
		{action: "CreateQueue", params: fifoQueue},
		{action: "SendMessageBatch", params: `{"QueueUrl":"q.fifo","Entries":[{"Id":"1","MessageBody":"g1-m1","MessageGroupId":"g1"},{"Id":"2","MessageBody":"g2-m1","MessageGroupId":"g2"},{"Id":"3","MessageBody":"g1-m2","MessageGroupId":"g1"}]}`},
		{"ReceiveMessage", `{"QueueUrl":"q.fifo","MaxNumberOfMessages":10,"MessageSystemAttributeNames":["All"]}`, "", map[string]string{
			"Messages.1.Body": "g1-m1", "Messages.2.Body": "g1-m2", "Messages.3.Body": "g2-m1", "Messages.1.Attributes.MessageGroupId": "g1",
			"Messages.1.Attributes.SequenceNumber": `\d{20}`, "Messages.1.Attributes.MessageDeduplicationId": "[0-9a-f]{64}"}, nil}}},
	{"ReceiveMessage", "gives a repeated FIFO attempt the same messages", []step{
		{action: "CreateQueue", params: fifoQueue},
		{action: "SendMessage", params: `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g"}`},
		{action: "ReceiveMessage", params: `{"QueueUrl":"q.fifo","ReceiveRequestAttemptId":"a"}`, keep: map[string]string{"h": "Messages.1.ReceiptHandle"}},
		{"ReceiveMessage", `{"QueueUrl":"q.fifo","ReceiveRequestAttemptId":"b"}`, "", map[string]string{"Messages.1.Body": "-"}, nil},
		{"ReceiveMessage", `{"QueueUrl":"q.fifo","ReceiveRequestAttemptId":"a"}`, "", map[string]string{"Messages.1.ReceiptHandle": "$h"}, nil}}},
	{"ReceiveMessage", "moves what was received too often to the dead-letter queue", then(buried(),
		step{"ReceiveMessage", `{"QueueUrl":"dead","MessageSystemAttributeNames":["All"]}`, "", map[string]string{"Messages.1.Body": "poison", "Messages.1.Attributes.DeadLetterQueueSourceArn": arn + "q"}, nil})},
	{"DeleteMessage", "deletes a message; again is a success", then(held(),
		step{action: "DeleteMessage", params: `{"QueueUrl":"q","ReceiptHandle":"$h"}`},
		step{action: "DeleteMessage", params: `{"QueueUrl":"q","ReceiptHandle":"$h"}`},
		step{"GetQueueAttributes", `{"QueueUrl":"q","AttributeNames":["All"]}`, "", map[string]string{"Attributes.ApproximateNumberOfMessagesNotVisible": "0"}, nil})},
	{"DeleteMessage", "refuses a handle that is forged", one("DeleteMessage", `{"QueueUrl":"q","ReceiptHandle":"forged"}`, "ReceiptHandleIsInvalid", nil)},
	{"DeleteMessage", "refuses an expired handle of a FIFO queue", []step{
		{action: "CreateQueue", params: fifoQueue},
		{action: "SendMessage", params: `{"QueueUrl":"q.fifo","MessageBody":"x","MessageGroupId":"g"}`},
		{action: "ReceiveMessage", params: `{"QueueUrl":"q.fifo","VisibilityTimeout":0}`, keep: map[string]string{"h": "Messages.1.ReceiptHandle"}},
		{"DeleteMessage", `{"QueueUrl":"q.fifo","ReceiptHandle":"$h"}`, "InvalidParameterValue", map[string]string{"": "Value $h for parameter ReceiptHandle is invalid\\. Reason: The receipt handle has expired\\."}, nil}}},
	{"DeleteMessageBatch", "deletes up to ten messages, and tells which it could not", then(held(),
		step{"DeleteMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"$h"},{"Id":"b","ReceiptHandle":"forged"}]}`, "", map[string]string{"Successful.1.Id": "a", "Failed.1.Id": "b", "Failed.1.Code": "ReceiptHandleIsInvalid", "Failed.1.SenderFault": "true"}, nil})},
	{"ChangeMessageVisibility", "hands a message back, or holds it longer", then(held(),
		step{action: "ChangeMessageVisibility", params: `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":60}`},
		step{action: "ChangeMessageVisibility", params: `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":0}`},
		step{"ReceiveMessage", `{"QueueUrl":"q"}`, "", map[string]string{"Messages.1.Body": "hello"}, nil},
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":0}`, "AWS.SimpleQueueService.MessageNotInflight", nil, nil})},
	{"ChangeMessageVisibility", "refuses more than twelve hours in all", then(held(),
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h","VisibilityTimeout":43201}`, "InvalidParameterValue", nil, nil},
		step{"ChangeMessageVisibility", `{"QueueUrl":"q","ReceiptHandle":"$h"}`, "MissingParameter", nil, nil})},
	{"ChangeMessageVisibilityBatch", "changes up to ten messages, and tells which it could not", then(held(),
		step{"ChangeMessageVisibilityBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"$h","VisibilityTimeout":0},{"Id":"b","ReceiptHandle":"forged","VisibilityTimeout":1}]}`, "", map[string]string{"Successful.1.Id": "a", "Failed.1.Id": "b", "Failed.1.Code": "ReceiptHandleIsInvalid"}, nil})},
	{"StartMessageMoveTask", "moves dead letters back to where they came from", then(buried(),
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead","MaxNumberOfMessagesPerSecond":500}`, "", map[string]string{"TaskHandle": ".+"}, nil},
		step{"ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":10}`, "", map[string]string{"Messages.1.Body": "poison"}, nil})},
	{"StartMessageMoveTask", "refuses a queue that does not exist or is no dead-letter queue, and a second task", then(buried(),
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `none"}`, "ResourceNotFoundException", map[string]string{"": "The resource that you specified for the SourceArn parameter doesn't exist\\."}, nil},
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead","DestinationArn":"` + arn + `none"}`, "ResourceNotFoundException", nil, nil},
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `q"}`, "InvalidParameterValue", map[string]string{"": "Source queue must be configured as a Dead Letter Queue\\."}, nil},
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead","MaxNumberOfMessagesPerSecond":501}`, "InvalidParameterValue", nil, nil},
		step{"StartMessageMoveTask", `{}`, "MissingParameter", nil, nil})},
	{"ListMessageMoveTasks", "lists the last tasks of a queue, the newest first", then(buried(),
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead"}`, "", map[string]string{"Results.1.Status": "-"}, nil},
		step{action: "SendMessageBatch", params: `{"QueueUrl":"dead","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"b","MessageBody":"y"},{"Id":"c","MessageBody":"z"}]}`},
		step{action: "StartMessageMoveTask", params: `{"SourceArn":"` + arn + `dead","DestinationArn":"` + arn + `q","MaxNumberOfMessagesPerSecond":1}`, keep: map[string]string{"h": "TaskHandle"}},
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead","MaxResults":10}`, "", map[string]string{
			"Results.1.Status": "RUNNING", "Results.1.TaskHandle": "$h", "Results.1.SourceArn": arn + "dead", "Results.1.DestinationArn": arn + "q", "Results.1.MaxNumberOfMessagesPerSecond": "1",
			"Results.1.ApproximateNumberOfMessagesToMove": "4", "Results.1.ApproximateNumberOfMessagesMoved": `\d`, "Results.1.StartedTimestamp": `\d{13}`, "Results.1.FailureReason": "-"}, nil},
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead","MaxResults":11}`, "InvalidParameterValue", nil, nil})},
	{"CancelMessageMoveTask", "ends a running task and tells how many were moved", then(buried(),
		step{action: "SendMessageBatch", params: `{"QueueUrl":"dead","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"b","MessageBody":"y"},{"Id":"c","MessageBody":"z"}]}`},
		step{action: "StartMessageMoveTask", params: `{"SourceArn":"` + arn + `dead","DestinationArn":"` + arn + `q","MaxNumberOfMessagesPerSecond":1}`, keep: map[string]string{"h": "TaskHandle"}},
		step{"StartMessageMoveTask", `{"SourceArn":"` + arn + `dead"}`, "AWS.SimpleQueueService.UnsupportedOperation", nil, nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"$h"}`, "", map[string]string{"ApproximateNumberOfMessagesMoved": `\d`}, nil},
		step{"ListMessageMoveTasks", `{"SourceArn":"` + arn + `dead"}`, "", map[string]string{"Results.1.Status": "CANCELLED", "Results.1.TaskHandle": "-"}, nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"$h"}`, "AWS.SimpleQueueService.UnsupportedOperation", nil, nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"eyJ0YXNrSWQiOiIxIn0="}`, "ResourceNotFoundException", nil, nil},
		step{"CancelMessageMoveTask", `{"TaskHandle":"forged"}`, "InvalidParameterValue", nil, nil})},
}
