// Which suite a test file belongs to, and which files share a process. A process for each file costs more than most of
// their tests, because it loads the code of a service again.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Signs of effects that other tests in the process would notice, or would disturb. */
const alone =
  /child_process|worker_threads|process\.env|process\.on\(|process\.exit|process\.argv|globalThis|mock\.|setFlagsFromString|sql\/testing|startTestPostgres|startTestPair|runOnPostgresql|start(?:Shared)?Installation|startCommandFixture|takeHeapSnapshot|memoryUsage|countUnfinishedGenerations|^(?:before|after)Each\(/m
const maxInGroup = 12
/** Files that run on both databases take long: others of them run at the same time. */
const onBothEngines = /bothEngines/
const maxOnBothEngines = 3

export interface TestFile {
  /** Path from the root. */
  readonly file: string
  /** Its text. */
  readonly source: string
}

/** Calls that start whole installations or processes of a service: full disks, kills, two versions, walks. */
const installationCalls =
  /\b(?:start(?:Shared)?Installation|startCommandFixture|startWalk|createSite|backedUp|oldInstallation|runWarder)\(|testing\/(?:program|small-disk)\.ts/
/** Programs of other projects, clouds and packages run against installations. */
const installationFolders = /^conformance[/\\](?:clients|clouds|package)[/\\]/
const postgresCalls =
  /sql\/testing|testing\/(?:postgres|databases|pair|server)\.ts|startTestPostgres|startTestPair|runOnPostgresql|bothEngines/
/** Functions of tests that start a service, a server, a thread or a process begin with `start`, but for OpenSSL and esbuild. */
const serviceCalls = /child_process|worker_threads|\b(?:start[A-Z]\w*|opensslFolder|bundleOfCheckout)\(/

/** `quick`: neither services, processes nor PostgreSQL. */
export type Suite = 'installations' | 'services' | 'quick'

/** Installations may use it, too. */
export const usesPostgres = ({ source }: TestFile): boolean => postgresCalls.test(source)

/** The suite of a test file, by the helpers that it calls and its folder. */
export function findSuite({ file, source }: TestFile): Suite {
  if (installationFolders.test(file) || installationCalls.test(source)) return 'installations'
  return usesPostgres({ file, source }) || serviceCalls.test(source) ? 'services' : 'quick'
}

/**
 * Groups files of one package.
 * @param files in the order in which they are to run
 * @returns lists of files, each for one process
 */
export function groupTests(files: readonly TestFile[]): readonly (readonly string[])[] {
  const groups: string[][] = []
  const open = new Map<string, string[]>()
  for (const { file, source } of files) {
    if (alone.test(source)) {
      groups.push([file])
      continue
    }
    const takesLong = onBothEngines.test(source)
    const kind = `${takesLong} ${file.split(/[/\\]/).slice(0, 2).join('/')}`
    const most = takesLong ? maxOnBothEngines : maxInGroup
    let group = open.get(kind)
    if (group === undefined || group.length === most) {
      group = []
      groups.push(group)
      open.set(kind, group)
    }
    group.push(file)
  }
  return groups
}

/**
 * Writes a module for each group of several files, which imports them. A file that cannot be loaded is a test that failed.
 * @param root of the files
 * @returns paths of modules to run, and a function that removes those that were written
 */
export function listModules(
  groups: readonly (readonly string[])[],
  root: string,
): { readonly modules: readonly string[]; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'warder-test-groups-'))
  const modules = groups.map((group, index) => {
    const [only = ''] = group
    if (group.length === 1) return join(root, only)
    const path = join(folder, `${index}-${dirname(only).replaceAll(/[/\\]/g, '-')}.mjs`)
    const urls = group.map((file) => pathToFileURL(join(root, file)).href)
    writeFileSync(path, moduleText(urls))
    return path
  })
  return { modules, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * A test may wait for a timer that keeps no process running. The process of a group runs until all of its tests are done:
 * else one such test cancels the tests of the other files. No test begins before all files are loaded: else the tests of the
 * first files could be done while the next file is loaded, and the hooks that remove its folders would run before its tests.
 */
const moduleText = (urls: readonly string[]): string => `import { after, before, test } from 'node:test'
let finishLoading
const loading = new Promise((resolve) => { finishLoading = resolve })
before(() => loading)
const running = setInterval(() => undefined, 60_000)
after(() => clearInterval(running))
for (const url of ${JSON.stringify(urls, undefined, 2)}) {
  try {
    await import(url)
  } catch (error) {
    test(\`\${url} can be loaded\`, () => {
      throw error
    })
  }
}
finishLoading()
`
