export { type Answer, type Ask, type HttpsClient, httpsClient, openTransport } from './https-client.ts'
