export { type AuthProxyOptions, type Forward, forwarder } from './forward.ts'
export { authProxyRoutes } from './routes.ts'
