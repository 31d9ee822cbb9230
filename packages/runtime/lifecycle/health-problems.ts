import type { Static } from 'typebox'
import type { HealthDetails } from './health-shape.ts'

type Details = Omit<Static<typeof HealthDetails>, 'problems'>
type Problem = Static<typeof HealthDetails>['problems'][number]

const day = 86_400_000
/** Certificates of the local authority are renewed earlier. */
const certificateWarningMs = 30 * day
const certificateDangerMs = 7 * day
const maxDrillDays = 90
/** Free space below both is a problem. */
const diskWarning = { share: 0.1, bytes: 2 * 1024 ** 3 }
const diskDanger = { share: 0.02, bytes: 200 * 1024 ** 2 }

/**
 * What is wrong, with the way out.
 * @param now Unix milliseconds
 * @param backupHours age from which a backup is too old
 */
export function listProblems(details: Details, now: number, backupHours: number): Problem[] {
  return [
    ...listPartProblems(details),
    ...listNodeProblems(details),
    ...listCertificateProblems(details, now),
    ...listBackupProblems(details, now, backupHours),
    ...listDiskProblems(details),
    ...listDatabaseProblems(details),
    ...listKeyAndAuditProblems(details),
  ]
}

function listPartProblems({ parts }: Details): Problem[] {
  return Object.values(parts)
    .filter(({ status }) => status === 'DOWN')
    .map(({ name, message = 'It does not work.' }) => ({
      about: 'parts',
      level: 'danger',
      problem: `${name}: ${message}`,
      remedy: 'The log of the service has the reason.',
    }))
}

function listNodeProblems({ service, nodes }: Details): Problem[] {
  return nodes.flatMap(({ node, answered, reason = 'the reason is not known', problems }): Problem[] => [
    ...when(!answered, {
      about: 'nodes',
      level: 'warning',
      problem: `Node ${node} does not answer: ${reason}.`,
      remedy: 'Start it, or set node_url there. If it was retired, forget it:',
      command: ['warder', 'audit', 'forget-node', node, '--service', service],
    }),
    ...problems.map(
      (problem): Problem => ({
        about: 'audit',
        level: 'danger',
        problem: `Node ${node}: ${problem}.`,
        remedy: 'Verify its audit log, on its machine:',
        command: ['warder', 'audit', 'verify'],
      }),
    ),
  ])
}

const uses = {
  https: 'The certificate of HTTPS',
  socket: 'The certificate of the listener beside HTTPS',
  client_authority: 'An authority of client certificates',
} as const

function listCertificateProblems({ certificates }: Details, now: number): Problem[] {
  return certificates.flatMap(({ use, subject, names, not_after }) => {
    const leftMs = Date.parse(not_after) - now
    const end = leftMs <= 0 ? 'has expired' : `expires in ${Math.ceil(leftMs / day)} days`
    return when(leftMs <= certificateWarningMs, {
      about: 'certificates',
      level: leftMs <= certificateDangerMs ? 'danger' : 'warning',
      problem: `${uses[use]} (${subject || names || 'without a name'}) ${end}.`,
      remedy:
        use === 'client_authority'
          ? 'Add the authority that follows it to its file, and send the service SIGHUP.'
          : 'Replace its files, and send the service SIGHUP.',
    })
  })
}

function listBackupProblems({ backups }: Details, now: number, backupHours: number): Problem[] {
  const isOlder = (at: string | null, maxMs: number): boolean => at === null || now - Date.parse(at) > maxMs
  const { last_backup_at: backup, last_drill_at: drill } = backups
  return [
    ...when(isOlder(backup, backupHours * 3_600_000), {
      about: 'backups',
      level: 'warning',
      problem:
        backup === null
          ? 'This node knows no backup.'
          : `This node knows no backup of the last ${backupHours} hours.`,
      remedy: 'Make backups regularly:',
      command: ['warder', 'backup', 'FILE', '--to', 'officer.pub.pem'],
    }),
    ...when(isOlder(drill, maxDrillDays * day), {
      about: 'backups',
      level: 'warning',
      problem:
        drill === null
          ? 'This node knows no test of a restore.'
          : `This node knows no test of a restore of the last ${maxDrillDays} days.`,
      remedy: 'Test a backup, which is restored into a temporary home and used there:',
      command: ['warder', 'drill', 'FILE'],
    }),
  ]
}

function listDiskProblems({ disks }: Details): Problem[] {
  return disks.flatMap(({ path, free_bytes: free, total_bytes: total }) => {
    const isBelow = ({ share, bytes }: typeof diskWarning): boolean => free < Math.min(total * share, bytes)
    return when(isBelow(diskWarning), {
      about: 'disks',
      level: isBelow(diskDanger) ? 'danger' : 'warning',
      problem: `The disk of ${path} has ${Math.floor(free / 1024 ** 2)} MiB free.`,
      remedy: 'Enlarge it, or move old files of the audit log elsewhere:',
      command: ['warder', 'audit', 'archive', '--before', '90d', '--to', 'FOLDER'],
    })
  })
}

function listDatabaseProblems({ database: { migrations, problems } }: Details): Problem[] {
  return [
    ...problems.map(
      (problem): Problem => ({
        about: 'database',
        level: 'danger',
        problem,
        remedy: 'Repair the database before changes are lost.',
      }),
    ),
    ...when(
      migrations.some(({ newer }) => newer > 0),
      {
        about: 'database',
        level: 'warning',
        problem: 'A newer version of the program has changed the database.',
        remedy: 'Upgrade this node. What the upgrade changes:',
        command: ['warder', 'check'],
      },
    ),
  ]
}

function listKeyAndAuditProblems({ root_key: rootKey, audit }: Details): Problem[] {
  return [
    ...when(!rootKey.usable, {
      about: 'root_key',
      level: 'danger',
      problem: 'The root key cannot be opened any more: a restart would fail.',
      remedy: 'Do not restart the service before its source works again. Test it:',
      command: ['warder', 'root-key', 'test'],
    }),
    ...when(!audit.enabled, {
      about: 'audit',
      level: 'warning',
      problem: 'The audit log is disabled.',
      remedy: 'Set audit_enabled = true, and restart the service.',
    }),
  ]
}

const when = (is: boolean, problem: Problem): Problem[] => (is ? [problem] : [])
