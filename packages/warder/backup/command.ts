import { createReadStream, existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { describeFullDisk, StartupError } from '@warder/foundation/errors'
import { readLogKeys } from '../audit/unlock-log.ts'
import { type Command, homeOption, selectHome, UsageError } from '../cli/command.ts'
import { optionsHelp, optionsUsage } from '../cli/help.ts'
import { readArguments } from '../cli/options.ts'
import { progressBar } from '../cli/progress.ts'
import { toFileRefused } from '../cli/refused.ts'
import { openUserTerminal } from '../cli/user-terminal.ts'
import { describeLostOperations } from './lost-operations.ts'
import { makeBackup } from './make.ts'
import { reportProgress, rowProgress } from './progress.ts'
import { restore } from './restore.ts'
import { readRecipients, readUnlock, recipientOptions, unlockOptions } from './secrets.ts'
import { requireSender, senderOptions } from './sender.ts'

const backupOptions = {
  home: homeOption,
  ...recipientOptions,
  'root-key': { type: 'flag', help: 'with the root key: whoever opens the backup has everything' },
  audit: { type: 'flag', help: 'with the files of the audit logs (default: their heads alone)' },
  spool: {
    type: 'text',
    value: 'SPOOL',
    help: 'the backup is written there, read back, and then sent or copied, which can go on after a break',
  },
  continue: { type: 'flag', help: 'copies the --spool SPOOL that is there on to FILE' },
  from: {
    type: 'text',
    value: 'BYTES',
    help: 'with -: sends the --spool SPOOL that is there, from this byte on',
  },
} as const

export const backup: Command = {
  name: 'backup',
  summary: 'copies the installation into one encrypted file while it runs',
  help: `warder backup FILE ${optionsUsage(backupOptions)}

Both databases, each as it is at one moment, the settings, the certificates and the heads of the audit logs. The same
for SQLite and PostgreSQL: restore puts either into either. FILE is written under another name and read back first;
- is standard output. Without --root-key the backup is of no use without a copy of root.key. It runs with the lowest
priority, so that it takes from the services what they leave.

A backup that is interrupted leaves nothing, and is begun anew. Where the way to its place may break, --spool keeps the
whole of it here: --continue copies it on to FILE and removes SPOOL at the end, and --from goes on behind what the other
side of a pipe has.

${optionsHelp(backupOptions)}

Examples:
  warder backup nightly.backup --passphrase-file /etc/warder/backup-passphrase
  warder backup - --to officer.pub.pem | ssh vault 'cat > warder.backup'
  warder backup - --to officer.pub.pem --spool tonight.backup | ssh vault 'cat > warder.backup'
  warder backup - --spool tonight.backup --from "$(ssh vault 'stat -c %s warder.backup')" | ssh vault 'cat >> warder.backup'
  warder backup /mnt/far/warder.backup --to officer.pub.pem --spool tonight.backup
  warder backup /mnt/far/warder.backup --spool tonight.backup --continue`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, backupOptions)
    const path = requireOneFile(names)
    const { spool, from } = values
    const goesOn = values.continue || from !== undefined
    if (from !== undefined && spool === undefined) throw new UsageError('--from belongs to --spool')
    if (from !== undefined && path !== '-') throw new UsageError('--from belongs to standard output (-)')
    if (values.continue && (spool === undefined || path === '-'))
      throw new UsageError('--continue belongs to --spool and a file')
    if (path === '-' && process.stdout.isTTY)
      throw new UsageError('a backup is not for a terminal: name a file, or send it into a pipe')
    const { env } = terminal
    try {
      return await makeBackup(
        {
          path,
          spool,
          from: from === undefined ? 0 : readByteOffset(from),
          recipients: goesOn ? undefined : readRecipients(values['passphrase-file'], values.to, env),
          home: resolve(selectHome(values.home, env)),
          rootKey: values['root-key'],
          audit: values.audit,
        },
        terminal,
      )
    } catch (error) {
      throw toFileRefused(error, spool ?? path)
    }
  },
}

function readByteOffset(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--from takes a number of bytes, not ${text}`)
  return Number(text)
}
const restoreOptions = {
  home: {
    ...homeOption,
    help: 'folder for the installation: missing or empty (default WARDER_HOME, else ./.warder)',
  },
  ...unlockOptions,
  ...senderOptions,
  'outside-home': {
    type: 'flag',
    help: 'also restores databases that the settings in the backup put outside of the home',
  },
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
no service starts on a database; a restore that was interrupted is simply begun anew. The backup must be signed by an
installation that --from names, or that was accepted before on this account. To move from SQLite to
PostgreSQL, or back, restore a backup with --auth-database and --kms-database; a password belongs into PGPASSWORD or
PGPASSFILE, not into the URL.

${optionsHelp(restoreOptions)}

Example:
  warder restore nightly.backup --home /var/lib/warder --from /safe/backup-signing.pub --passphrase-file /etc/warder/backup-passphrase`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, restoreOptions)
    const path = requireOneFile(names)
    const unlock = readUnlock(values['passphrase-file'], values.key, terminal.env)
    const home = resolve(selectHome(values.home, terminal.env))
    const { 'auth-database': auth, 'kms-database': kms, 'surviving-audit': audit } = values
    if (path !== '-' && !existsSync(path)) throw new StartupError(`${path} is not there`)
    if (audit !== undefined && !existsSync(audit)) throw new StartupError(`${audit} is not there`)
    const { screen, prompter } = openUserTerminal()
    const sender = requireSender(
      {
        from: values.from,
        acceptNew: values['accept-new-sender'],
        acceptUnsigned: values['accept-unsigned'],
      },
      // A backup that comes through the pipe leaves nothing to answer with.
      {
        env: terminal.env,
        prompter: path === '-' ? { ...prompter, interactive: false } : prompter,
        say: terminal.out,
      },
    )
    const progress = path === '-' ? rowProgress(screen, terminal.err) : progressBar(screen)
    const source: AsyncIterable<Uint8Array> =
      path === '-'
        ? Readable.from(process.stdin)
        : reportProgress(createReadStream(path), statSync(path).size, progress)
    try {
      const restored = await restore({
        source,
        unlock,
        requireSender: sender,
        outsideHome: values['outside-home'],
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
      const readKeys = (log: string) => readLogKeys(log, { home, env: terminal.env })
      if (audit !== undefined)
        for (const line of await describeLostOperations(audit, heads, readKeys)) terminal.out(line)
      return 0
    } catch (error) {
      progress.clear()
      // What is read is the backup; what finds no room is the home.
      throw toFileRefused(error, describeFullDisk(error, home) === undefined ? path : home)
    }
  },
}

function requireOneFile(names: readonly string[]): string {
  const [path, ...rest] = names
  if (path === undefined || rest.length > 0) throw new UsageError('name one file, or - for a pipe')
  return path
}
