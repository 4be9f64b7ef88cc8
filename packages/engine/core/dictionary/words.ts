/**
 * Plain English and JSON that any assistant produces, written for this file. None of it is taken from recorded
 * conversations: the benchmark's data must stay unseen.
 */
export const words = {
  system:
    "You are a helpful assistant. You have access to the following tools. Use them to answer the user's question. " +
    "If you don't know the answer, say that you don't know. Always respond in the same language as the user. Today's date is " +
    "Do not make up information. You should first check the status of the request before making any changes. " +
    "Return your answer as a JSON object with the following fields:\n\n- ",
  question:
    "Hi, I would like to know if you can help me with this. Could you please tell me how to change my account? " +
    "What is the best way to do that? I want to make sure that everything is correct. Thank you! Yes, please. Can you also",
  answer:
    "I'm sorry for the inconvenience. I can help you with that. Here is the information that you requested:\n\n" +
    "1. **Name**: \n2. **Description**: \n   - **Total**: $\n   - **Date**: 2025-01-\n\n## Summary\n\n### Next steps\n\n" +
    "Based on the results of the search, there are several options available. However, it looks like the number of items " +
    "is not what we would expect, because they have been updated since the first time. For example, you could use the " +
    'following code:\n\n```typescript\nimport { } from \\"\\";\nexport const = async () => {\n  return await \n};\n```\n\n' +
    "```python\ndef main():\n    return None\n```\n\nPlease let me know which one of these would work for you, and if you " +
    "would like to proceed (yes/no). To complete the request, I will need some more details about your order. " +
    "Would you like me to do anything else? Is there anything else I can help you with today? " +
    "You're welcome! If you have any other questions, feel free to ask. Have a great day! Thank you for ",
  json:
    '{"status":"success","message":"","error":null,"data":[{"id":"1","name":"","title":"","description":"","type":"string",' +
    '"url":"https://www.","content":"","score":0.99,"price":100.0,"amount":0,"quantity":1,"currency":"USD","available":true,' +
    '"enabled":false,"created_at":"2025-01-01T00:00:00.000Z","updated_at":"2025-01-01T00:00:00Z","date":"2025-01-01",' +
    '"user_id":"user_","email":"@example.com","first_name":"","last_name":"","phone":"+1","address":{"street":"","city":"",' +
    '"state":"","country":"US","zip":""},"tags":[],"metadata":{"source":""},"options":{},"items":[],"payment_method":' +
    '"credit_card","order_id":"","product_id":"","item_ids":[""],"reason":"","summary":"","results":[{"title":"","url":' +
    '"https://en.wikipedia.org/wiki/","snippet":""}],"query":"","limit":10,"offset":0,"page":1,"total":1,"count":1}],' +
    '"path":"/src/index.ts","command":"","stdout":"","stderr":"","exit_code":0,"line":1,"file":"",' +
    '"start_time":"","end_time":"","location":"","value":"","key":"","role":"assistant"}',
} as const;
