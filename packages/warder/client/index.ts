export { type Answer, type Ask, type HttpsClient, httpsClient } from './https-client.ts'
