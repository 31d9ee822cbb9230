import { createReadStream, existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { describeFullDisk, StartupError } from '@warder/base'
import {
  type Command,
  homeOption,
  openUserTerminal,
  optionsHelp,
  optionsUsage,
  progressBar,
  readArguments,
  selectHome,
  UsageError,
} from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { readLogKeys } from '../audit/unlock-log.ts'
import { describeLostOperations } from './lost-operations.ts'
import { makeBackup } from './make.ts'
import { reportProgress, rowProgress } from './progress.ts'
import { restore } from './restore.ts'
import { readRecipients, readUnlock, recipientOptions, unlockOptions } from './secrets.ts'
import { requireSender, senderOptions } from './sender.ts'

const backupOptions = {
  home: homeOption,
  ...recipientOptions,
  'root-key': {
    type: 'flag',
    help: 'includes the root key: the backup alone is then enough to read everything',
  },
  audit: { type: 'flag', help: 'includes the files of the audit logs (default: only their heads)' },
  spool: {
    type: 'text',
    value: 'SPOOL',
    help: 'writes and verifies the backup in this local file first, so that sending or copying it can be resumed',
  },
  continue: { type: 'flag', help: 'resumes the copy of an existing --spool SPOOL to FILE' },
  from: {
    type: 'text',
    value: 'BYTES',
    help: 'with -: resumes sending an existing --spool SPOOL, from this byte on',
  },
} as const

export const backup: Command = {
  name: 'backup',
  summary: 'Back up the running installation into one encrypted file',
  help: `warder backup FILE ${optionsUsage(backupOptions)}

Backs up both databases (a consistent snapshot of each), the settings, the certificates and the heads of the audit logs.
The format is the same for SQLite and PostgreSQL: a backup of either can be restored into either. FILE appears only
after it was written under another name and read back; - is standard output. Without --root-key a restore also needs a
copy of root.key. The command runs with the lowest scheduling priority.

An interrupted backup leaves nothing behind: start it again. If the connection to the target may break, use --spool for
a complete local copy: --continue then resumes the copy to FILE and removes SPOOL at the end; --from resumes a pipe
after the bytes that the other side has.

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
    if (from !== undefined && spool === undefined) throw new UsageError('--from needs --spool')
    if (from !== undefined && path !== '-') throw new UsageError('--from needs standard output (-)')
    if (values.continue && (spool === undefined || path === '-'))
      throw new UsageError('--continue needs --spool and a file')
    if (path === '-' && process.stdout.isTTY)
      throw new UsageError('a backup cannot be written to a terminal: name a file, or use a pipe')
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
    help: 'home of the installation, missing or empty (default WARDER_HOME, else ./.warder)',
  },
  ...unlockOptions,
  ...senderOptions,
  'outside-home': {
    type: 'flag',
    help: 'permits databases outside the home, as named by the settings in the backup',
  },
  'auth-database': {
    type: 'text',
    value: 'URL',
    help: 'new database_url of auth: sqlite:FILE or postgresql://…',
  },
  'kms-database': { type: 'text', value: 'URL', help: 'new database_url of kms' },
  'surviving-audit': {
    type: 'text',
    value: 'FOLDER',
    help: 'audit/ of the lost installation: lists the operations after the backup, which are lost',
  },
} as const

export const restoreCommand: Command = {
  name: 'restore',
  summary: 'Restore a backup into an empty home and empty databases',
  help: `warder restore FILE ${optionsUsage(restoreOptions)}

Overwrites nothing: the home and the databases must be empty. No service can start on them until the restore is
complete; after an interruption, run the same command again. The backup must be signed by an installation that --from
names, or that this account accepted before. To move from SQLite to PostgreSQL or back, restore with --auth-database and
--kms-database; put a password into PGPASSWORD or PGPASSFILE, not into the URL.

${optionsHelp(restoreOptions)}

Example:
  warder restore nightly.backup --home /var/lib/warder --from /safe/backup-signing.pub --passphrase-file /etc/warder/backup-passphrase`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, restoreOptions)
    const path = requireOneFile(names)
    const unlock = readUnlock(values['passphrase-file'], values.key, terminal.env)
    const home = resolve(selectHome(values.home, terminal.env))
    const { 'auth-database': auth, 'kms-database': kms, 'surviving-audit': audit } = values
    if (path !== '-' && !existsSync(path)) throw new StartupError(`${path} does not exist`)
    if (audit !== undefined && !existsSync(audit)) throw new StartupError(`${audit} does not exist`)
    const { screen, prompter } = openUserTerminal()
    const sender = requireSender(
      {
        from: values.from,
        acceptNew: values['accept-new-sender'],
        acceptUnsigned: values['accept-unsigned'],
      },
      // When the backup comes through standard input, no question can be answered.
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
      if (!rootKey)
        terminal.out(`the backup contains no root key: put root.key into ${home} before the start`)
      const readKeys = (log: string) => readLogKeys(log, { home, env: terminal.env })
      if (audit !== undefined)
        for (const line of await describeLostOperations(audit, heads, readKeys)) terminal.out(line)
      return 0
    } catch (error) {
      progress.clear()
      // A full disk is that of the home; other errors concern the backup.
      throw toFileRefused(error, describeFullDisk(error, home) === undefined ? path : home)
    }
  },
}

function requireOneFile(names: readonly string[]): string {
  const [path, ...rest] = names
  if (path === undefined || rest.length > 0) throw new UsageError('name one file, or - for a pipe')
  return path
}
