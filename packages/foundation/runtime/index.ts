export { type Clock, systemClock, unixSeconds } from './clock.ts'
export { Secret } from './secret.ts'
export type * from './service.ts'
