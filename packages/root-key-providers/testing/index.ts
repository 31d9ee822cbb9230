export { awsKeyArn, startAwsCloud } from './aws-cloud.ts'
export { startAzureCloud } from './azure-cloud.ts'
export { startGoogleCloud } from './google-cloud.ts'
