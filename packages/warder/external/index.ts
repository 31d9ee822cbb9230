export { type AwsCredential, awsHeaders } from './aws-signing.ts'
