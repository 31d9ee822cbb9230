import { cpSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../bundle/entry-points.ts'
import { archive } from './archive.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import { hasDpkgDeb, packDeb } from './deb.ts'
import { billName, stageLinux } from './linux.ts'
import type { Platform } from './lock.ts'
import { pack } from './pack.ts'
import { runtimePackages } from './runtime.ts'

interface Build {
  /** Folder for the artifacts. */
  readonly out: string
  /** For unfinished artifacts; removed at the end. */
  readonly staged: string
  readonly version: string
  /** Of everything in an archive. */
  readonly time: Date
  /** Prints a line of progress. */
  say(line: string): void
  /** Folder of the bundled command, made when it is first asked for. */
  command(): Promise<string>
}

/** Artifacts of `npm run package`, in the order in which they are made. */
export const artifacts: Readonly<Record<string, (build: Build) => Promise<void> | void>> = {
  async npm({ out, version, time }) {
    await pack(out)
    const bill = JSON.stringify(billOfMaterials(runtimePackages(), time), undefined, 2)
    writeFileSync(join(out, `warder-${version}-npm.cdx.json`), `${bill}\n`)
  },
  'linux-x64': (build) => tarball('x64', build),
  'linux-arm64': (build) => tarball('arm64', build),
  'deb-amd64': (build) => deb('x64', build),
  'deb-arm64': (build) => deb('arm64', build),
  chart: ({ out, version, time }) =>
    archive(join(root, 'deploy', 'helm', 'warder'), join(out, `warder-helm-${version}.tgz`), time),
}

async function tarball(cpu: Platform['cpu'], build: Build): Promise<void> {
  const { out, version, time } = build
  const [folder, name] = [await prefix(cpu, build), `warder-${version}-linux-${cpu}`]
  await archive(folder, join(out, `${name}.tar.gz`), time)
  cpSync(join(folder, 'share', 'doc', 'warder', billName), join(out, `${name}.cdx.json`))
}

async function deb(cpu: Platform['cpu'], build: Build): Promise<void> {
  const { out, staged, version, time, say } = build
  if (!hasDpkgDeb()) {
    say('  skipped: dpkg-deb is not here (it is on Debian and Ubuntu, elsewhere in the package dpkg)')
    return
  }
  const file = join(out, `warder_${version}_${cpu === 'x64' ? 'amd64' : cpu}.deb`)
  packDeb(join(staged, `deb-${cpu}`), file, { prefix: await prefix(cpu, build), cpu, version, time })
}

/** The prefix of a platform, laid out once for all that is made of it. */
async function prefix(cpu: Platform['cpu'], { staged, version, time, command }: Build): Promise<string> {
  const folder = join(staged, `warder-${version}-linux-${cpu}`)
  if (!existsSync(folder)) stageLinux(folder, { os: 'linux', cpu, libc: 'glibc' }, await command(), time)
  return folder
}
