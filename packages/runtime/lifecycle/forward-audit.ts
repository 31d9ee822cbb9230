import type { AuditLog } from '@warder/audit'
import { createCollectorTarget, createSyslogTarget, type ForwardTarget, startForwarder } from '@warder/audit'
import { inHome } from '@warder/base'
import type { RuntimeConfig } from './launch.ts'
import type { ServiceEnvironment } from './service.ts'

const syslogTimeoutMs = 30_000

export interface ForwardAudit {
  readonly config: RuntimeConfig
  readonly home: string
  readonly folder: string
  readonly audit: AuditLog
  readonly environment: Pick<ServiceEnvironment<unknown>, 'clock' | 'log' | 'metrics' | 'outbound'>
}

/** Sends the audit log to the targets of the settings. */
export function startAuditForwarding(options: ForwardAudit): { stop(): Promise<void> } {
  const { folder, audit, environment } = options
  const running = createTargets(options).map((target) =>
    startForwarder({
      ...environment,
      folder,
      target,
      keys: audit.keys,
      head: () => audit.head.seq,
      record: (event) => audit.trail.record(event),
    }),
  )
  return {
    async stop() {
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}

function createTargets({ config, home, environment }: ForwardAudit): readonly ForwardTarget[] {
  const file = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : inHome(home, path)
  const found: ForwardTarget[] = []
  if (config.audit_collector_url !== undefined)
    found.push(
      createCollectorTarget({
        url: config.audit_collector_url,
        tokenFile: file(config.audit_collector_token_file),
        outbound: environment.outbound,
      }),
    )
  if (config.audit_syslog !== undefined) {
    const { hostname, port } = new URL(`tls://${config.audit_syslog}`)
    found.push(
      createSyslogTarget({
        host: hostname.replace(/^\[|\]$/g, ''),
        port: Number(port),
        allowPrivateNetworks: config.outbound_allow_private_networks,
        caFile: file(config.outbound_ca_file),
        timeoutMs: syslogTimeoutMs,
      }),
    )
  }
  return found
}
