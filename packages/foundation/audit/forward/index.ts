/** The audit log sent to others who keep it. */
export { createCollectorTarget } from './collector.ts'
export { startForwarder } from './forwarder.ts'
export { createSyslogTarget } from './syslog.ts'
export type { ForwardTarget } from './target.ts'
