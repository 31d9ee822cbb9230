export { type AwsCredential, signAwsRequest } from './aws-signing.ts'
