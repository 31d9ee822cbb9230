import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** initdb refuses to run as root: an account without rights does it then. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** Enough for the server and a hundred databases. */
const memoryNeeded = 2 ** 30

/** A new folder for servers, and as whom they run; undefined = as this process. */
export function serverFolder(): { readonly folder: string; readonly account: Account | undefined } {
  const folder = mkdtempSync(join(roomyFolder(), 'warder-pg-'))
  const account = process.getuid?.() === 0 ? findUnprivilegedUser() : undefined
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid)
    chmodSync(folder, 0o755)
  }
  return { folder, account }
}

/** A database is some three hundred files: in memory, where there is enough of it, they cost a tenth. */
function roomyFolder(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize >= memoryNeeded) return '/dev/shm'
  } catch {
    // No such folder on this system.
  }
  return tmpdir()
}

function findUnprivilegedUser(): Account {
  const line = existsSync('/etc/passwd')
    ? readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .find((one) => one.startsWith('nobody:'))
    : undefined
  const [, , uid = '65534', gid = '65534'] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}
