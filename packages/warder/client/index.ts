export {
  type Answer,
  type Ask,
  clientOf,
  type HttpsClient,
  httpsClient,
  openTransport,
  type Server,
} from './https-client.ts'
