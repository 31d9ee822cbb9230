import { spawnSync } from 'node:child_process'
import { root } from '../bundle/entry-points.ts'

/**
 * The time that everything in an archive gets: SOURCE_DATE_EPOCH (seconds since 1970, reproducible-builds.org), else
 * that of the newest commit. @throws Error if neither is available
 */
export function sourceDate(env: NodeJS.ProcessEnv = process.env): Date {
  const given = env.SOURCE_DATE_EPOCH
  const text =
    given ?? spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).stdout
  const seconds = Number(text)
  if (!/^\d{1,10}\s*$/.test(text ?? '') || seconds === 0)
    throw new Error(
      given === undefined
        ? 'this is no git checkout: set SOURCE_DATE_EPOCH to the time of the archives, in seconds since 1970'
        : `SOURCE_DATE_EPOCH has whole seconds since 1970, not '${given}'`,
    )
  return new Date(seconds * 1000)
}
