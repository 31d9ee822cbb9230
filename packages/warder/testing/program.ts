import { fileURLToPath } from 'node:url'

/**
 * The `bin/warder.mjs` that tests start: of the bundle that `npm test` made of the sources as they are, which starts in half
 * of the time; by itself, or with WARDER_FROM_SOURCES=1, a test starts the sources.
 */
export const program: string =
  process.env.WARDER_TEST_PROGRAM ?? fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))

/**
 * Program and first words that run `warder`: an installed command, which brings its own Node, where WARDER_TEST_COMMAND names
 * one; else `program` on the Node of the tests.
 */
export const command: readonly [program: string, ...words: string[]] =
  process.env.WARDER_TEST_COMMAND === undefined
    ? [process.execPath, program]
    : [process.env.WARDER_TEST_COMMAND]
