import { Health } from '@warder/server'
import Type from 'typebox'

const Time = Type.String({ format: 'date-time' })
const LastTime = Type.Union([Time, Type.Null()])

const Problem = Type.Object({
  about: Type.Enum(['parts', 'nodes', 'certificates', 'backups', 'disks', 'database', 'audit', 'root_key'], {
    description: 'The member of the reply.',
  }),
  level: Type.Enum(['warning', 'danger'], { description: 'danger: something fails now, or soon.' }),
  problem: Type.String(),
  remedy: Type.String(),
  command: Type.Optional(Type.Array(Type.String(), { description: 'Words of a command that helps.' })),
})

/** Reply of `GET /v1/health/details`. */
export const HealthDetails = Type.Object({
  service: Type.String(),
  version: Type.String(),
  node: Type.String({
    description: 'The node that answers: what follows is about it, if nothing else is said.',
  }),
  started_at: Time,
  checked_at: Type.String({ format: 'date-time', description: 'A result is reused for some seconds.' }),
  problems: Type.Array(Problem, { description: 'What is wrong, with the way out. Empty: nothing.' }),
  parts: Type.Object(Health.properties.dependencies.properties, { description: 'As in `GET /health`.' }),
  nodes: Type.Array(
    Type.Object({
      node: Type.String(),
      answered: Type.Boolean(),
      reason: Type.Optional(Type.String({ description: 'Why it did not answer.' })),
      records: Type.Optional(Type.Integer({ description: 'Number of the last record of its audit log.' })),
      problems: Type.Array(Type.String({ description: 'About its audit log.' })),
    }),
    { description: 'Nodes that were started with this database, and not forgotten.' },
  ),
  certificates: Type.Array(
    Type.Object({
      use: Type.Enum(['https', 'socket', 'client_authority'], {
        description:
          'HTTPS; the listener beside it; authorities of client certificates, also those of clouds.',
      }),
      subject: Type.String(),
      issuer: Type.String(),
      names: Type.Optional(Type.String({ description: 'subjectAltName' })),
      not_after: Time,
      sha256: Type.String(),
    }),
    { description: 'Those in force; intermediates are left out.' },
  ),
  backups: Type.Object({
    last_backup_at: LastTime,
    last_drill_at: LastTime,
  }),
  disks: Type.Array(
    Type.Object({
      path: Type.String({ description: 'Home, audit log or database on this disk.' }),
      free_bytes: Type.Integer(),
      total_bytes: Type.Integer(),
    }),
  ),
  database: Type.Object({
    engine: Type.String({ description: 'sqlite or postgresql' }),
    version: Type.String(),
    location: Type.String({ description: 'Path of the file, or hosts and name; without user and password.' }),
    bytes: Type.Optional(Type.Integer({ description: 'SQLite: size of the file and its write-ahead log.' })),
    migrations: Type.Array(
      Type.Object({
        component: Type.String(),
        done: Type.Integer(),
        pending: Type.Integer(),
        newer: Type.Integer({ description: 'Carried out by a newer version of the program.' }),
      }),
    ),
    problems: Type.Array(Type.String()),
  }),
  audit: Type.Object({
    enabled: Type.Boolean(),
    failure_mode: Type.String(),
    encrypted: Type.Boolean(),
  }),
  root_key: Type.Object({
    source: Type.String({ description: '`root_key_source`' }),
    usable: Type.Boolean({ description: 'false: a restart could not open the database with it.' }),
    sealed: Type.Boolean({ description: 'false: a sealed service answers `GET /health` alone.' }),
  }),
  settings: Type.Array(
    Type.Object({
      name: Type.String(),
      from: Type.String({ description: '`file`, `environment` or `flag`' }),
      value: Type.Optional(
        Type.Unknown({
          description: 'Absent for secrets. Users, passwords and queries in addresses are replaced by …',
        }),
      ),
    }),
    { description: 'Settings with another value than their default.' },
  ),
})
