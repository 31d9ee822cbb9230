export { context } from './contexts/command.ts'
export { isContextName, prepareContext } from './contexts/context-store.ts'
