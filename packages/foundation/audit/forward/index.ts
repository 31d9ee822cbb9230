/** The audit log sent to others who keep it. */
export { collectorTarget } from './collector.ts'
export { startForwarder } from './forwarder.ts'
export { syslogTarget } from './syslog.ts'
export type { ForwardTarget } from './target.ts'
