export { findExposedFiles, inHome, openHome, requireUsableHome, restoreFolder, writeOnce } from './home.ts'
