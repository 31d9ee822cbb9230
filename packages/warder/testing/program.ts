import { fileURLToPath } from 'node:url'

/**
 * The `bin/warder.mjs` that tests start: of the bundle that `npm test` made of the sources as they are, which starts in half
 * of the time; by itself, or with WARDER_FROM_SOURCES=1, a test starts the sources.
 */
export const program: string =
  process.env.WARDER_TEST_PROGRAM ?? fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))
