import { createReadStream, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { StartupError } from '@warder/foundation/errors'
import { note } from '@warder/foundation/runtime'
import { logKeysOf } from '../audit/unlocked.ts'
import { type Command, homeOf, homeOption, UsageError } from '../cli/command.ts'
import { optionsHelp, optionsUsage } from '../cli/help.ts'
import { readArguments } from '../cli/options.ts'
import { realPerson } from '../cli/person.ts'
import { refusalOf } from '../cli/refused.ts'
import { collect } from './collect.ts'
import { compressedLines } from './lines.ts'
import { restore } from './restore.ts'
import { sealStream } from './sealed-stream.ts'
import { recipientOptions, recipientsOf, unlockOf, unlockOptions } from './secrets.ts'
import { sinceBackup } from './since-backup.ts'
import { writeBackup } from './write.ts'

const backupOptions = {
  home: homeOption,
  ...recipientOptions,
  'root-key': { type: 'flag', help: 'with the root key: whoever opens the backup has everything' },
  audit: { type: 'flag', help: 'with the files of the audit logs (default: their heads alone)' },
} as const

export const backup: Command = {
  name: 'backup',
  summary: 'copies the installation into one encrypted file while it runs',
  help: `warder backup FILE ${optionsUsage(backupOptions)}

Both databases, each as it is at one moment, the settings, the certificates and the heads of the audit logs. The same
for SQLite and PostgreSQL: restore puts either into either. FILE is written under another name and read back first;
- is standard output. Without --root-key the backup is of no use without a copy of root.key.

${optionsHelp(backupOptions)}

Examples:
  warder backup nightly.backup --passphrase-file /etc/warder/backup-passphrase
  warder backup - --to officer.pub.pem | ssh vault 'cat > warder.backup'`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, backupOptions)
    const path = oneFile(names)
    const recipients = recipientsOf(values['passphrase-file'], values.to, terminal.env)
    const home = resolve(homeOf(values.home, terminal.env))
    const options = {
      home,
      env: terminal.env,
      rootKey: values['root-key'],
      audit: values.audit,
      now: Date.now(),
      onRow: counter(terminal.err),
    }
    try {
      if (path === '-') {
        const person = realPerson()
        for await (const chunk of sealStream(compressedLines(collect(options)), recipients))
          await person.writeOutput(chunk)
      } else {
        const { bytes, files, rows } = await writeBackup(options, recipients, path)
        terminal.out(`${path}: ${rows} rows and ${files} files in ${bytes} bytes, read back`)
      }
      note(home, 'backup', options.now)
      if (!values['root-key'])
        terminal.err('the root key is not in the backup: keep a copy of it apart from this file')
      return 0
    } catch (error) {
      throw refusalOf(error)
    }
  },
}

const restoreOptions = {
  home: {
    ...homeOption,
    help: 'folder for the installation: missing or empty (default WARDER_HOME, else ./.warder)',
  },
  ...unlockOptions,
  'auth-database': {
    type: 'text',
    value: 'URL',
    help: 'database_url of auth from now on: sqlite:FILE or postgresql://…',
  },
  'kms-database': { type: 'text', value: 'URL', help: 'the same for kms' },
  'surviving-audit': {
    type: 'text',
    value: 'FOLDER',
    help: 'audit/ of the lost installation: tells what was done after the backup',
  },
} as const

export const restoreCommand: Command = {
  name: 'restore',
  summary: 'puts a backup into an empty home and empty databases',
  help: `warder restore FILE ${optionsUsage(restoreOptions)}

Replaces nothing: the home and the databases have to be empty. Until all of it is there the home has another name and
no service starts on a database; a restore that was interrupted is simply begun anew. To move from SQLite to
PostgreSQL, or back, restore a backup with --auth-database and --kms-database; a password belongs into PGPASSWORD or
PGPASSFILE, not into the URL.

${optionsHelp(restoreOptions)}

Example:
  warder restore nightly.backup --home /var/lib/warder --passphrase-file /etc/warder/backup-passphrase`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, restoreOptions)
    const path = oneFile(names)
    const unlock = unlockOf(values['passphrase-file'], values.key, terminal.env)
    const home = resolve(homeOf(values.home, terminal.env))
    const { 'auth-database': auth, 'kms-database': kms, 'surviving-audit': audit } = values
    if (path !== '-' && !existsSync(path)) throw new StartupError(`${path} is not there`)
    if (audit !== undefined && !existsSync(audit)) throw new StartupError(`${audit} is not there`)
    const source: AsyncIterable<Uint8Array> =
      path === '-' ? Readable.from(process.stdin) : createReadStream(path)
    try {
      const restored = await restore({
        source,
        unlock,
        home,
        now: Date.now(),
        env: terminal.env,
        databases: { ...(auth !== undefined && { auth }), ...(kms !== undefined && { kms }) },
        onRow: counter(terminal.err),
      })
      const { madeAt, rootKey, files, rows, heads } = restored
      terminal.out(`${home}: ${rows} rows and ${files} files, as of ${madeAt}`)
      if (!rootKey) terminal.out(`the backup has no root key: put root.key into ${home} before the start`)
      const keysOf = (log: string) => logKeysOf(log, { home, env: terminal.env })
      if (audit !== undefined) for (const line of await sinceBackup(audit, heads, keysOf)) terminal.out(line)
      return 0
    } catch (error) {
      throw refusalOf(error)
    }
  },
}

function oneFile(names: readonly string[]): string {
  const [path, ...rest] = names
  if (path === undefined || rest.length > 0) throw new UsageError('name one file, or - for a pipe')
  return path
}

const tellEvery = 100_000

/** Says how far it is, now and then. */
function counter(say: (line: string) => void): (rows: number) => void {
  let told = 0
  return (rows) => {
    if (rows - told < tellEvery) return
    told = rows
    say(`${rows} rows …`)
  }
}
