export { inHome, openHome, restoreFolder, writeOnce } from './home.ts'
