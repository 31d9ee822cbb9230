export {
  type Answer,
  type Ask,
  type HttpsClient,
  httpsClient,
  openClient,
  openTransport,
  type Server,
} from './https-client.ts'
