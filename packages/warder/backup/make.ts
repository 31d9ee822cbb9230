import { createPublicKey } from 'node:crypto'
import { existsSync, rmSync, statSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { openUserTerminal, progressBar, type Terminal, toExitCode } from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { writeNote } from '@warder/runtime/launch'
import { computeFingerprint, openSigningKey } from '../installation/signing-key.ts'
import { findBackupSources } from './backup-sources.ts'
import { collect } from './collect.ts'
import { compressLines } from './lines.ts'
import { rowProgress } from './progress.ts'
import { resumeCopy } from './resume-copy.ts'
import { sealStream } from './sealed-stream.ts'
import { sendFrom, standardOutput } from './sender.ts'
import type { Recipients } from './wrapped-keys.ts'
import { requireNew, requireOutside, writeBackup } from './write.ts'

export interface BackupWork {
  /** Absolute. */
  readonly home: string
  /** The file, or `-` for standard output. */
  readonly path: string
  /** Local file with the complete backup before it is sent or copied. */
  readonly spool: string | undefined
  /** For standard output: offset in the spool from which to send. */
  readonly from: number
  /** undefined = resume from an existing spool. */
  readonly recipients: Recipients | undefined
  readonly rootKey: boolean
  readonly audit: boolean
}

/** Makes a backup, or resumes one from its spool. @returns the exit code */
export async function makeBackup(work: BackupWork, terminal: Terminal): Promise<number> {
  const { home, path, spool } = work
  const interruption = new AbortController()
  let stoppedBy: NodeJS.Signals | undefined
  const unlisten = openUserTerminal().onInterrupt((signal) => {
    stoppedBy = signal
    interruption.abort()
  })
  try {
    const madeAt = await executeBackup(work, terminal, interruption.signal)
    const unnoted = existsSync(home) ? writeNote(home, 'backup', madeAt) : undefined
    if (unnoted !== undefined) terminal.err(unnoted)
    return 0
  } catch (error) {
    if (stoppedBy === undefined) throw error
    const next = path === '-' ? '--from and the byte count of the other side' : '--continue'
    const left =
      spool !== undefined && existsSync(spool)
        ? `${spool} is complete, resume with ${next}`
        : 'nothing was left behind, start it again'
    terminal.err(`interrupted (${stoppedBy}): ${left}`)
    return toExitCode(stoppedBy)
  } finally {
    unlisten()
  }
}

/** @returns time of the backup, Unix milliseconds */
async function executeBackup(work: BackupWork, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const { home, path, spool, from, recipients } = work
  if (path !== '-') {
    requireNew(path)
    requireOutside(home, path)
  }
  if (spool !== undefined) requireSpool(spool, work)
  const now = Date.now()
  if (recipients !== undefined) await createBackup(work, recipients, { terminal, signal, now })
  if (spool === undefined) return now
  const { mtimeMs } = statSync(spool)
  if (path === '-') await sendFrom(spool, from, standardOutput(), signal)
  else await copyToTarget(spool, path, terminal, signal)
  return mtimeMs
}

/** The spool must exist to resume, and must not exist for a new backup. @throws StartupError */
function requireSpool(spool: string, { path, recipients }: BackupWork): void {
  if (recipients === undefined && !existsSync(spool))
    throw new StartupError(
      `${spool} does not exist: the other side has part of a backup that is gone; start a new one`,
    )
  if (recipients !== undefined && existsSync(spool))
    throw new StartupError(
      `${spool} already exists: resume it with ${path === '-' ? '--from' : '--continue'}, or remove it`,
    )
}

async function createBackup(
  { home, path, spool, rootKey, audit }: BackupWork,
  recipients: Recipients,
  {
    terminal,
    signal,
    now,
  }: { readonly terminal: Terminal; readonly signal: AbortSignal; readonly now: number },
): Promise<void> {
  const { env, err } = terminal
  const progress = rowProgress(openUserTerminal().screen, err)
  const options = { home, env, rootKey, audit, now, onRow: progress.update, signal }
  const { externalFiles: elsewhere } = findBackupSources(home, env, { rootKey, audit })
  const file = spool ?? path
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
  const signer = openSigningKey(home)
  try {
    if (file === '-') {
      const output = standardOutput()
      for await (const chunk of sealStream(compressLines(collect(options)), recipients, signer))
        await output.write(chunk)
      progress.clear()
      err(`${output.bytes} bytes, SHA-256 ${output.digest()}; not read back`)
    } else {
      const { bytes, files, rows, digest } = await writeBackup(options, recipients, file, signer)
      progress.clear()
      const tell = path === '-' ? err : terminal.out
      tell(`${file}: ${rows} rows and ${files} files in ${bytes} bytes, read back, SHA-256 ${digest}`)
    }
  } finally {
    progress.clear()
  }
  err(
    `signed by ${computeFingerprint(createPublicKey(signer))}; a restore requires this fingerprint (--from)`,
  )
  for (const one of elsewhere) err(`not in the backup, because it is outside the home: ${one}`)
  if (!rootKey) err('the root key is not in the backup: store a copy of it separately')
}

async function copyToTarget(
  spool: string,
  path: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const bar = progressBar(openUserTerminal().screen)
  try {
    const digest = await resumeCopy(spool, path, { signal, onBytes: bar.update })
    rmSync(spool)
    bar.clear()
    terminal.out(`${path}: read back, SHA-256 ${digest}; ${spool} is removed`)
  } catch (error) {
    bar.clear()
    if (signal.aborted) throw error
    terminal.err(`${spool} is complete: --continue resumes the copy to ${path}`)
    throw toFileRefused(error, `${path}.arriving`)
  }
}
