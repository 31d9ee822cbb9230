import { createReadStream, existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { diskFull, StartupError } from '@warder/foundation/errors'
import { note } from '@warder/foundation/runtime'
import { logKeysOf } from '../audit/unlocked.ts'
import { type Command, homeOf, homeOption, type Terminal, UsageError } from '../cli/command.ts'
import { exitCodeOf } from '../cli/exit-codes.ts'
import { optionsHelp, optionsUsage } from '../cli/help.ts'
import { readArguments } from '../cli/options.ts'
import { realPerson } from '../cli/person.ts'
import { progressBar } from '../cli/progress.ts'
import { refusalOf } from '../cli/refused.ts'
import { collect } from './collect.ts'
import { compressedLines } from './lines.ts'
import { placesOf } from './places.ts'
import { rowProgress, watched } from './progress.ts'
import { restore } from './restore.ts'
import { sealStream } from './sealed-stream.ts'
import { recipientOptions, recipientsOf, unlockOf, unlockOptions } from './secrets.ts'
import { sendFrom, standardOutput } from './send.ts'
import { sinceBackup } from './since-backup.ts'
import { writeBackup } from './write.ts'

const backupOptions = {
  home: homeOption,
  ...recipientOptions,
  'root-key': { type: 'flag', help: 'with the root key: whoever opens the backup has everything' },
  audit: { type: 'flag', help: 'with the files of the audit logs (default: their heads alone)' },
  spool: {
    type: 'text',
    value: 'FILE',
    help: 'with -: the backup is written there, read back, and then sent, so that it can be sent on after a break',
  },
  from: {
    type: 'text',
    value: 'BYTES',
    help: 'sends the --spool FILE that is there already, from this byte on',
  },
} as const

export const backup: Command = {
  name: 'backup',
  summary: 'copies the installation into one encrypted file while it runs',
  help: `warder backup FILE ${optionsUsage(backupOptions)}

Both databases, each as it is at one moment, the settings, the certificates and the heads of the audit logs. The same
for SQLite and PostgreSQL: restore puts either into either. FILE is written under another name and read back first;
- is standard output. Without --root-key the backup is of no use without a copy of root.key.

A backup that is interrupted leaves nothing, and is begun anew. Where a line may break on the way, --spool keeps the whole
file here, and --from goes on behind what the other side has.

${optionsHelp(backupOptions)}

Examples:
  warder backup nightly.backup --passphrase-file /etc/warder/backup-passphrase
  warder backup - --to officer.pub.pem | ssh vault 'cat > warder.backup'
  warder backup - --to officer.pub.pem --spool tonight.backup | ssh vault 'cat > warder.backup'
  warder backup - --spool tonight.backup --from "$(ssh vault 'stat -c %s warder.backup')" | ssh vault 'cat >> warder.backup'`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, backupOptions)
    const path = oneFile(names)
    const { spool, from } = values
    if (path !== '-' && spool !== undefined) throw new UsageError('--spool belongs to standard output (-)')
    if (from !== undefined && spool === undefined) throw new UsageError('--from belongs to --spool')
    if (path === '-' && process.stdout.isTTY)
      throw new UsageError('a backup is not for a terminal: name a file, or send it into a pipe')
    const output = standardOutput()
    try {
      if (from !== undefined && spool !== undefined) {
        await sendFrom(spool, bytesOf(from), output)
        return 0
      }
      return await makeBackup(path, values, terminal, output)
    } catch (error) {
      throw refusalOf(error, spool ?? path)
    }
  },
}

async function makeBackup(
  path: string,
  values: ReturnType<typeof readArguments<typeof backupOptions>>['values'],
  terminal: Terminal,
  output: ReturnType<typeof standardOutput>,
): Promise<number> {
  const recipients = recipientsOf(values['passphrase-file'], values.to, terminal.env)
  const home = resolve(homeOf(values.home, terminal.env))
  const person = realPerson()
  const progress = rowProgress(person.screen, terminal.err)
  const interruption = new AbortController()
  let stoppedBy: NodeJS.Signals | undefined
  const unlisten = person.onInterrupt((signal) => {
    stoppedBy = signal
    interruption.abort()
  })
  const { signal } = interruption
  const { 'root-key': rootKey, audit, spool } = values
  const options = { home, env: terminal.env, rootKey, audit, now: Date.now(), onRow: progress.update, signal }
  const { elsewhere } = placesOf(home, terminal.env, { rootKey, audit })
  try {
    const file = path === '-' ? spool : path
    if (file === undefined) {
      for await (const chunk of sealStream(compressedLines(collect(options)), recipients))
        await output.write(chunk)
      progress.clear()
      terminal.err(`${output.bytes} bytes, SHA-256 ${output.digest()}; nobody has read them back`)
    } else {
      const { bytes, files, rows, digest } = await writeBackup(options, recipients, file)
      progress.clear()
      const tell = path === '-' ? terminal.err : terminal.out
      tell(`${file}: ${rows} rows and ${files} files in ${bytes} bytes, read back, SHA-256 ${digest}`)
      if (path === '-') await sendFrom(file, 0, output)
    }
  } catch (error) {
    if (stoppedBy === undefined) throw error
    terminal.err(`interrupted (${stoppedBy}): nothing was left, begin anew`)
    return exitCodeOf(stoppedBy)
  } finally {
    progress.clear()
    unlisten()
  }
  const unnoted = note(home, 'backup', options.now)
  if (unnoted !== undefined) terminal.err(unnoted)
  for (const one of elsewhere) terminal.err(`not in the backup, as it is not in the home: ${one}`)
  if (!rootKey) terminal.err('the root key is not in the backup: keep a copy of it apart from this file')
  return 0
}

function bytesOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--from takes a number of bytes, not ${text}`)
  return Number(text)
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
    const { screen } = realPerson()
    const progress = path === '-' ? rowProgress(screen, terminal.err) : progressBar(screen)
    const source: AsyncIterable<Uint8Array> =
      path === '-'
        ? Readable.from(process.stdin)
        : watched(createReadStream(path), statSync(path).size, progress)
    try {
      const restored = await restore({
        source,
        unlock,
        home,
        now: Date.now(),
        env: terminal.env,
        databases: { ...(auth !== undefined && { auth }), ...(kms !== undefined && { kms }) },
        onRow: (rows) => path === '-' && progress.update(rows, 0),
      })
      progress.clear()
      const { madeAt, rootKey, files, rows, heads } = restored
      terminal.out(`${home}: ${rows} rows and ${files} files, as of ${madeAt}`)
      if (!rootKey) terminal.out(`the backup has no root key: put root.key into ${home} before the start`)
      const keysOf = (log: string) => logKeysOf(log, { home, env: terminal.env })
      if (audit !== undefined) for (const line of await sinceBackup(audit, heads, keysOf)) terminal.out(line)
      return 0
    } catch (error) {
      progress.clear()
      // What is read is the backup; what finds no room is the home.
      throw refusalOf(error, diskFull(error, home) === undefined ? path : home)
    }
  },
}

function oneFile(names: readonly string[]): string {
  const [path, ...rest] = names
  if (path === undefined || rest.length > 0) throw new UsageError('name one file, or - for a pipe')
  return path
}
